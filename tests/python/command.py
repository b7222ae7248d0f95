"""What the scripts beside it run programs with."""

import subprocess
import sys


def skip(missing, packages):
    """Leaves as a skipped test does, since Python lacks `missing`, which pip installs with these packages."""
    print(f"skipped: {missing}; `pip install {packages}`, and configure with -DPENSTOCK_PYTHON=that python")
    sys.exit(77)


def run(*command):
    """What it printed; leaves with all of it where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nreturned {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
