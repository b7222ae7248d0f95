"""Starts commands for the benchmarks beside this file, by mpirun where they have ranks."""
import os
import subprocess

# Ranks may be more than cores, and are bound to none.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
# Without it mpirun refuses root, which containers run as.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def output_of(ranks, *words, **environment):
    """What a command prints on so many ranks (0: without mpirun). Where it fails, this program ends with all that it said."""
    command = [*MPIRUN, "-n", str(ranks), *words] if ranks else list(words)
    done = subprocess.run(command, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
