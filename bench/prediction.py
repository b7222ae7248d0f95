#!/usr/bin/env python3
"""Predicted beside measured: runs of two ranks on this machine, each trained several times with a profile of its
layers and without one (from what the program has measured of the processor), and the step times and peak memory that
the program said beforehand. A benchmark: prints, asserts nothing.

usage: bench/prediction.py [--penstock PATH] [--runs 5] [--steps 40] [--only PART OF A NAME]
"""
import argparse
import json
import pathlib
import statistics
import tempfile

from mpirun import output_of

TRANSFORMER = """
[model]
kind = "transformer-lm"
layers = {layers}
width = {width}
heads = {heads}
context = {context}
vocabulary = 256
"""
RESNET = """
[model]
kind = "resnet"
depth = 20
image = [3, 32, 32]
classes = 10
"""
COMMON = """
[data]
kind = "synthetic"
[pipeline]
stages = 2
micro_batches = 8
[run]
threads = 1
"""

LM = TRANSFORMER.format(layers=4, width=256, heads=4, context=128)
DEEP = TRANSFORMER.format(layers=6, width=256, heads=4, context=64)

# name, network, options of both profile and train, options of train
RUNS = [
    ("gpipe, recompute", LM, "--micro-batch-size 4", "--schedule gpipe --recompute stage"),
    ("1f1b", LM, "--micro-batch-size 4", "--schedule 1f1b --recompute none"),
    ("1f1b-deep", LM, "--micro-batch-size 4", "--schedule 1f1b-deep --recompute none"),
    ("interleaved-1f1b", DEEP, "--micro-batch-size 8", "--schedule interleaved-1f1b --stages 4 --recompute none"),
    ("looped-bfs", DEEP, "--micro-batch-size 8", "--schedule looped-bfs --stages 4 --recompute none"),
    ("zb-h1", LM, "--micro-batch-size 4", "--schedule zb-h1 --recompute none"),
    ("zb-h2", LM, "--micro-batch-size 4", "--schedule zb-h2 --recompute none"),
    ("zb-v", DEEP, "--micro-batch-size 8", "--schedule zb-v --stages 4 --recompute none"),
    ("dualpipev", DEEP, "--micro-batch-size 8", "--schedule dualpipev --stages 4 --recompute none"),
    ("two replicas", LM, "--micro-batch-size 4", "--stages 1 --replicas 2 --micro-batches 4 --recompute none"),
    ("zb-h1, bf16", TRANSFORMER.format(layers=6, width=384, heads=6, context=128),
     "--micro-batch-size 2 --precision bf16", "--schedule zb-h1 --recompute none"),
    ("ResNet-20, by layer", RESNET, "--micro-batch-size 8", "--schedule 1f1b --recompute layer"),
    ("uneven 2 + 5 layers", LM, "--micro-batch-size 2", "--schedule 1f1b --recompute stage --split 2,5"),
]


def train_once(penstock, run_file, options, scratch):
    out = scratch / "run"
    output_of(2, penstock, "train", str(run_file), "--overwrite", "--out", str(out), *options)
    return json.loads((out / "summary.json").read_text())


def measure(penstock, run, runs, steps, scratch):
    """Predicted and measured step times, by whether there was a profile, and the ranks' peak memory."""
    _, network, shared, own = run
    run_file = scratch / "run.toml"
    run_file.write_text(network + COMMON)
    options = [*shared.split(), *own.split(), "--steps", str(steps)]
    pairs = {"counted": [], "profiled": []}
    # All take turns, so that each sees the machine as it is.
    for _ in range(runs):
        profile = scratch / "profile.json"
        output_of(2, penstock, "profile", str(run_file), "--profile-out", str(profile), *shared.split())
        for basis, more in (("counted", []), ("profiled", ["--pipeline.profile", str(profile)])):
            summary = train_once(penstock, run_file, [*options, *more], scratch)
            pairs[basis].append((summary["step_ms"]["predicted"], summary["step_ms"]["median"]))
    peaks = [(rank["predicted_peak_bytes"], rank["peak_bytes"]["total"]) for rank in summary["ranks_detail"]]
    return pairs, peaks


def ratio_text(pairs):
    ratios = [predicted / measured for predicted, measured in pairs]
    return f"{statistics.median(ratios):6.3f} {min(ratios):6.3f}-{max(ratios):.3f}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(root / "build/release/bin/penstock"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"{'2 ranks, predicted / measured':29} {'measured ms':>12}   {'counted':>6} {'spread':>12}   {'profiled':>6} {'spread':>11}   "
          "peak bytes, predicted / measured")
    for run in (run for run in RUNS if options.only in run[0]):
        with tempfile.TemporaryDirectory() as scratch:
            pairs, peaks = measure(options.penstock, run, options.runs, options.steps, pathlib.Path(scratch))
        milliseconds = statistics.median(measured for _, measured in pairs["counted"] + pairs["profiled"])
        memory = ", ".join(f"{p / 2**20:.1f} / {m / 2**20:.1f} MiB ({p / m - 1:+.1%})" for p, m in peaks)
        print(f"{run[0]:29} {milliseconds:12.2f}   {ratio_text(pairs['counted'])}   {ratio_text(pairs['profiled'])}   {memory}", flush=True)


if __name__ == "__main__":
    main()
