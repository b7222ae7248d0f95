#!/usr/bin/env python3
"""Predicted beside measured: profiles six runs of two ranks on this machine, trains each several times,
and prints step times and peak memory beside what `penstock plan` would have said. A benchmark: prints, asserts nothing.

usage: bench/prediction.py [--penstock PATH] [--runs 5] [--steps 40]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

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

# name, network, options of both profile and train, options of train
RUNS = [
    ("gpipe, recompute", TRANSFORMER.format(layers=4, width=256, heads=4, context=128),
     "--micro-batch-size 4", "--schedule gpipe --recompute stage"),
    ("1f1b, kept", TRANSFORMER.format(layers=4, width=256, heads=4, context=128),
     "--micro-batch-size 4", "--schedule 1f1b --recompute none"),
    ("zb-h1, bf16", TRANSFORMER.format(layers=6, width=384, heads=6, context=128),
     "--micro-batch-size 2 --precision bf16", "--schedule zb-h1 --recompute none"),
    ("interleaved, 4 stages", TRANSFORMER.format(layers=6, width=256, heads=4, context=64),
     "--micro-batch-size 8", "--schedule interleaved-1f1b --stages 4 --recompute none"),
    ("ResNet-20, by layer", RESNET, "--micro-batch-size 8", "--schedule 1f1b --recompute layer"),
    ("uneven 2 + 7 layers", TRANSFORMER.format(layers=6, width=256, heads=4, context=128),
     "--micro-batch-size 2", "--schedule 1f1b --recompute stage --split 2,7"),
]


def mpirun(penstock, arguments):
    command = ["mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe", penstock, *arguments]
    # Without it mpirun refuses root, which containers run as.
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def train_once(penstock, run_file, options, scratch):
    out = scratch / "run"
    mpirun(penstock, ["train", str(run_file), "--overwrite", "--out", str(out), *options])
    return json.loads((out / "summary.json").read_text())


def measure(penstock, run, runs, steps, scratch):
    _, network, shared, own = run
    run_file = scratch / "run.toml"
    run_file.write_text(network + COMMON)
    predicted, measured = [], []
    # Profile and run take turns, so that both see the machine as it is.
    for _ in range(runs):
        profile = scratch / "profile.json"
        mpirun(penstock, ["profile", str(run_file), "--profile-out", str(profile), *shared.split()])
        options = [*shared.split(), *own.split(), "--steps", str(steps), "--pipeline.profile", str(profile)]
        summary = train_once(penstock, run_file, options, scratch)
        predicted.append(summary["step_ms"]["predicted"])
        measured.append(summary["step_ms"]["median"])
    peaks = [(rank["predicted_peak_bytes"], rank["peak_bytes"]["total"]) for rank in summary["ranks_detail"]]
    return predicted, measured, peaks


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(root / "build/release/bin/penstock"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    print(f"{'2 ranks':24} {'predicted ms':>12} {'measured ms':>12} {'ratio':>6} {'spread':>13}   peak bytes, predicted / measured")
    for run in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            predicted, measured, peaks = measure(options.penstock, run, options.runs, options.steps, pathlib.Path(scratch))
        ratios = [p / m for p, m in zip(predicted, measured)]
        memory = ", ".join(f"{p / 2**20:.1f} / {m / 2**20:.1f} MiB ({p / m - 1:+.1%})" for p, m in peaks)
        print(f"{run[0]:24} {statistics.median(predicted):12.2f} {statistics.median(measured):12.2f} "
              f"{statistics.median(predicted) / statistics.median(measured):6.3f} "
              f"{min(ratios):6.3f}-{max(ratios):.3f}   {memory}", flush=True)


if __name__ == "__main__":
    main()
