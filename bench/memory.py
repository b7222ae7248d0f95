#!/usr/bin/env python3
"""Memory that was forecast beside memory that was used: small runs of every kind of network, cut in many ways, each with an evaluation and
a checkpoint. Prints for each the peak of the ranks as a share of their forecast, the least and the most; a share above 1 is a forecast
that is broken, and then the exit code is 1.

usage: bench/memory.py [--penstock PATH] [--networks PART OF A NAME] [--cuts PART OF A NAME] [--verbose]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from mpirun import ENVIRONMENT, MPIRUN

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "random"))
import small_data  # noqa: E402

SYNTHETIC = '[data]\nkind = "synthetic"\nsamples = 200\nvalidation = "0.3"\n'
PACKED = '[data]\nkind = "jsonl"\ntrain = "lines.jsonl"\nvalidation = "0.3"\npacked = true\nvocabulary = "{}"\n'.format(small_data.TUNED)
IMAGE = "image = [3, 32, 32]\nclasses = 10\n"
NETWORKS = {
    "transformer-lm": 'kind = "transformer-lm"\nlayers = 4\nwidth = 128\nheads = 4\ncontext = 64\nvocabulary = 256\n' + SYNTHETIC,
    "decoder, packed": 'kind = "decoder"\nlayers = 4\nwidth = 128\nheads = 4\nkv_heads = 2\nhidden = 256\ncontext = 64\ngated = true\n'
                       'activation = "silu"\nnorm = "rms"\npositions = "rotary"\ntied_embedding = true\n' + PACKED,
    "NMT": 'kind = "transformer-nmt"\nlayers = 3\nwidth = 128\nheads = 4\nhidden = 256\ncontext = 32\nvocabulary = 256\n' + SYNTHETIC,
    "ResNet-20": 'kind = "resnet"\ndepth = 20\n' + IMAGE + SYNTHETIC,
    "U-Net": 'kind = "unet"\nlayers = 2\nfilters = 16\n' + IMAGE + SYNTHETIC,
    "AmoebaNet-D": 'kind = "amoebanet-d"\nlayers = 3\nfilters = 32\nauxiliary_weight = 0.4\n' + IMAGE + SYNTHETIC,
    "own layers": """kind = "sequential"
layers = [
  { kind = "conv2d", channels = 16, activation = "relu" }, { kind = "stash", skip = "far" },
  { kind = "residual", activation = "relu", layers = [{ kind = "conv2d", channels = 16 }, { kind = "batch-norm" }, { kind = "relu" },
                                                      { kind = "conv2d", channels = 16 }] },
  { kind = "batch-norm" }, { kind = "relu" }, { kind = "pop", skip = "far" }, { kind = "max-pool" }, { kind = "flatten" },
  { kind = "linear", width = 128, activation = "tanh" }, { kind = "dropout", rate = 0.5 }, { kind = "layer-norm" },
]
""" + IMAGE + SYNTHETIC,
    "MLP": 'kind = "mlp"\ninput = [64]\nclasses = 10\nhidden_layers = [512, 512, 512, 512, 512]\n' + SYNTHETIC,
}
# Name, ranks and options. Every run has an evaluation after each second step and a checkpoint at its end.
CUTS = [
    ("1 x 1", 1, ""),
    ("1 x 2", 2, "--replicas 2"),
    ("1 x 3", 3, "--replicas 3"),
    ("1 x 4", 4, "--replicas 4"),
    ("1 x 4, not sharded", 4, "--replicas 4 --optimizer.sharded false"),
    ("2 x 1 gpipe", 2, "--stages 2 --schedule gpipe"),
    ("3 x 1 1f1b, none", 3, "--stages 3 --recompute none"),
    ("3 x 1 1f1b-deep, layer", 3, "--stages 3 --schedule 1f1b-deep --recompute layer"),
    ("3 x 1 zb-h1, none", 3, "--stages 3 --schedule zb-h1 --recompute none"),
    ("3 x 1 zb-h2, stage", 3, "--stages 3 --schedule zb-h2"),
    ("4 x 1 zb-v, none", 2, "--stages 4 --schedule zb-v --recompute none"),
    ("4 x 1 dualpipev, layer", 2, "--stages 4 --schedule dualpipev --recompute layer"),
    ("4 x 1 interleaved, none", 2, "--stages 4 --schedule interleaved-1f1b --recompute none"),
    ("4 x 1 looped-bfs, stage", 2, "--stages 4 --schedule looped-bfs"),
    ("2 x 2", 4, "--stages 2 --replicas 2 --micro-batches 2"),
    ("2 x 2, checkpoints", 4, "--stages 2 --replicas 2 --micro-batches 2 --checkpoint.every 2"),
    ("2 x 1, one micro-batch", 2, "--stages 2 --micro-batches 1 --recompute none"),
    ("2 x 1, large evaluation", 2, "--stages 2 --run.eval_batch 16"),
    ("2 x 2, audits, exact", 4, "--stages 2 --replicas 2 --run.audit 2 --reduction exact"),
    ("2 x 2, no barrier", 4, "--stages 2 --replicas 2 --optimizer.barrier false"),
    ("2 x 1, bf16, average", 2, "--stages 2 --precision bf16 --optimizer.moving_average 0.9"),
    ("2 x 2, muon, wire bf16", 4, "--stages 2 --replicas 2 --optimizer.kind muon --pipeline.wire bf16"),
]
COMMON = """
[optimizer]
kind = "adamw"
[pipeline]
micro_batches = 4
micro_batch_size = 4
[checkpoint]
minutes = 0.0
[run]
steps = 5
threads = 1
eval_every = 2
trace = 0
measure_processor = false
"""


def run(penstock, ranks, run_file, options):
    """The ranks' records of a run, or why there are none."""
    out = run_file.parent / "run"
    command = [*MPIRUN, "-n", str(ranks), penstock, "train", str(run_file), "--overwrite", "--out", str(out), *options.split()]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stdout + done.stderr
        return next((line.partition("error: ")[2] for line in said.splitlines() if "error: " in line), said)
    return json.loads((out / "summary.json").read_text())["ranks_detail"]


def verdict(ranks):
    shares = [rank["peak_bytes"]["total"] / rank["predicted_peak_bytes"] for rank in ranks]
    return min(shares), max(shares)


def cell(penstock, folder, name, cut, verbose):
    """What stands in the table, and whether the forecast holds."""
    _, ranks, options = cut
    run_file = folder / "run.toml"
    run_file.write_text("[model]\n" + NETWORKS[name] + COMMON)
    found = run(penstock, ranks, run_file, options)
    if isinstance(found, str):
        return f"- ({found})" if verbose else "-", True
    if verbose:
        for rank in found:
            print(name, cut[0], rank["rank"], rank["layers"], rank["peak_bytes"], "snapshot", rank["snapshot_bytes"],
                  "predicted", rank["predicted_peak_bytes"])
    least, most = verdict(found)
    return f"{least:.3f}" + (f" - {most:.3f}" if len(found) > 1 else ""), most <= 1


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(root / "build/release/bin/penstock"))
    parser.add_argument("--networks", default="")
    parser.add_argument("--cuts", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    names = [name for name in NETWORKS if options.networks in name]
    print("| stages x replicas | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|", flush=True)
    holds = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        small_data.lines_of_json(random.Random(1), folder)
        for cut in (cut for cut in CUTS if options.cuts in cut[0]):
            cells = [cell(options.penstock, folder, name, cut, options.verbose) for name in names]
            holds = holds and all(held for _, held in cells)
            print(f"| {cut[0]} | " + " | ".join(text for text, _ in cells) + " |", flush=True)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
