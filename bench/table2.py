#!/usr/bin/env python3
"""GPipe's table 2 (Huang et al. 2019), the speed of K stages with M micro-batches, run at the size of this machine:
AmoebaNet-D of 18 cells and a Transformer of 48 blocks, gpipe with recompute as in the paper.

Computed: K = 1, 2 and 4 ranks, one thread each. Where there are fewer cores than ranks, they share them, and the
column says what of the cores' speed is left. Dry: K = 2, 4 and 8 ranks whose layers take as long as a profile of
two ranks says, for which two cores are enough. Speeds are beside K = 2, M = 1, as the paper's are. A benchmark:
prints, asserts nothing.

usage: bench/table2.py [--penstock PATH] [--steps 3] [--only PART OF A NAME]
"""
import argparse
import json
import os
import pathlib
import tempfile

from mpirun import output_of

MINI_BATCH = 32
COMMON = """
[data]
kind = "synthetic"
[optimizer]
kind = "rmsprop"
[pipeline]
schedule = "gpipe"
recompute = "stage"
[run]
threads = 1
trace = 0
"""
AMOEBANET = """
[model]
kind = "amoebanet-d"
layers = 18
filters = 32
image = [3, 64, 64]
classes = 100
"""
TRANSFORMER = """
[model]
kind = "transformer-lm"
layers = 48
width = 192
heads = 6
context = 64
vocabulary = 1000
"""
# name, network, the paper's figures by M, for K = 2, 4 and 8
NETWORKS = [
    ("AmoebaNet-D (18, 32), 64 x 64", AMOEBANET, {1: (1, 1.13, 1.38), 4: (1.07, 1.26, 1.72), 32: (1.21, 1.84, 3.48)}),
    ("Transformer-48, width 192, T 64", TRANSFORMER, {1: (1, 1.07, 1.3), 4: (1.7, 3.2, 4.8), 32: (1.8, 3.4, 6.3)}),
]


def cut(micro_batches):
    return ["--micro-batches", str(micro_batches), "--micro-batch-size", str(MINI_BATCH // micro_batches)]


def computed_s(given, run_file, stages, micro_batches, profile):
    """The median step of `stages` ranks, which are cut by the profile, and what the program said that it would take."""
    out = run_file.parent / "run"
    output_of(stages, given.penstock, "train", str(run_file), "--stages", str(stages), *cut(micro_batches), "--steps", str(given.steps + 1),
              "--pipeline.profile", str(profile), "--checkpoint.last", "false", "--overwrite", "--out", str(out))
    step = json.loads((out / "summary.json").read_text())["step_ms"]
    return 1e-3 * step["median"], 1e-3 * step["predicted"]


def dry_s(given, run_file, stages, micro_batches, profile):
    out = run_file.parent / "dry"
    output_of(stages, given.penstock, "train", str(run_file), "--dry-run", "--stages", str(stages), *cut(micro_batches), "--steps", "3",
              "--pipeline.profile", str(profile), "--out", str(out))
    return 1e-3 * json.loads(pathlib.Path(str(out) + ".dry-run", "dry_run.json").read_text())["step_ms"]["median"]


def triple(values, form="{:.2f}"):
    return " / ".join(form.format(value) for value in values)


def rows(given, name, network, paper, folder):
    cores = len(os.sched_getaffinity(0))
    run_file = folder / "run.toml"
    run_file.write_text(network + COMMON)
    first_computed = first_dry = None
    for micro_batches, published in paper.items():
        profile = folder / "profile.json"
        output_of(2, given.penstock, "profile", str(run_file), "--stages", "2", *cut(micro_batches), "--profile-out", str(profile))
        computed, predicted = zip(*(computed_s(given, run_file, k, micro_batches, profile) for k in (1, 2, 4)))
        dry = [dry_s(given, run_file, k, micro_batches, profile) for k in (2, 4, 8)]
        first_computed, first_dry = first_computed or computed[1], first_dry or dry[0]
        two, planned = computed[0] / computed[1], predicted[0] / predicted[1]
        shared = computed[0] / computed[2] / min(cores, 4)
        print(f"| {name}, M {micro_batches} | {triple(computed)} | {two:.2f}, planned {planned:.2f} | {100 * shared:.0f} % "
              f"| {first_computed / computed[1]:.2f} | {triple(first_dry / step for step in dry)} | {triple(published)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/penstock"
    parser.add_argument("--penstock", default=str(beside))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print("| network, mini-batch 32 | K = 1 / 2 / 4 computed, s | K = 2 beside 1 | K = 4, of the cores | speed, K = 2, computed "
          "| K = 2 / 4 / 8, dry | paper |")
    print("|---|---|---|---|---|---|---|")
    for name, network, paper in NETWORKS:
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            rows(given, name, network, paper, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
