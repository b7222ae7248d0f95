#!/usr/bin/env python3
"""trace.json of runs of several kinds keeps the rules of trace_rules.py.

usage: trace_test.py RANKS PENSTOCK
"""

import pathlib
import subprocess
import sys
import tempfile

import trace_rules

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 4
width = 16
heads = 2
context = 8
vocabulary = 20
[data]
kind = "synthetic"
[pipeline]
micro_batches = 4
micro_batch_size = 2
[run]
steps = 4
threads = 1
"""
# Ranks and options: two chunks a rank; replicas, that sum and have messages of the same names.
RUNS = [(2, "--stages 4 --schedule zb-v"), (4, "--stages 2 --replicas 2 --schedule 1f1b")]


def main():
    script, penstock = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run_file = folder / "run.toml"
        run_file.write_text(RUN_FILE)
        for number, (ranks, options) in enumerate(RUNS):
            out = folder / str(number)
            subprocess.run([script, "-n", str(ranks), penstock, "train",
                            run_file, "--out", out, "--checkpoint.last", "false", *options.split()],
                           check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            found = trace_rules.check(out / "trace.json")
            assert found["clocks"] == 1 and found["error_us"] == 0, f"ranks of one host share its clock: {found}"
            # An activation and a gradient for each micro-batch, boundary and step; zb-v has a boundary inside of a rank.
            assert found["received"] == 2 * 2 * 4 * 2, found
            print(options, found)


if __name__ == "__main__":
    main()
