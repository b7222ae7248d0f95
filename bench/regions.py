#!/usr/bin/env python3
"""What more threads make no faster: the processor time that a step spends outside of parallel regions, row by row of the
comparison (bench/peers/rows.py), and the share of a step that it would be on many threads, by Amdahl's law: outside over
outside + the rest / threads. A benchmark: prints a table, asserts nothing.

usage: bench/regions.py STEP_BENCH [--threads 2] [--steps 10] [--on 16 64] [--rows PART OF A NAME]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import rows
import specs

# Waiting threads sleep, so that their time is not taken for work.
ASLEEP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}


def counted(program, spec, threads, steps):
    options = specs.options(spec) | {"run.threads": threads, "run.steps": steps + 10}
    words = [program, *(f"--{key}={value}" for key, value in options.items())]
    lines = subprocess.run(words, input=f"measure 3\nregions {steps}\nquit\n", env=os.environ | ASLEEP, text=True,
                           capture_output=True, check=True).stdout.splitlines()
    return json.loads(next(line for line in lines if '"outside"' in line))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="STEP_BENCH")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--on", type=int, nargs="+", default=[16, 64], help="threads whose share is told")
    parser.add_argument("--rows", default="")
    options = parser.parse_args()
    print(f"| row | regions | outside, ms | in regions, ms | µs a region | {' | '.join(f'on {n}' for n in options.on)} |")
    print(f"|---|{'---|' * (4 + len(options.on))}")
    for row in rows.one_rank():
        name = specs.title(row.spec)
        if row.spec.get("threads", 1) > 1 or options.rows not in name:
            continue
        found = counted(options.program, row.spec, options.threads, options.steps)
        outside, inside = found["outside"], found["all"] - found["outside"]
        shares = " | ".join(f"{outside / (outside + inside / n):.0%}" for n in options.on)
        print(f"| {name} | {found['regions']} | {1e3 * outside:.1f} | {1e3 * inside:.0f} | "
              f"{1e6 * outside / found['regions']:.1f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
