#!/usr/bin/env python3
"""One forecast of memory: plan, headline, sweep, dry run and closing table say the same number of the same run, and no rank needs more.

usage: memory_test.py RANKS PENSTOCK
"""

import json
import pathlib
import re
import sys
import tempfile

import command

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 4
width = 64
heads = 2
context = 32
vocabulary = 64
[data]
kind = "synthetic"
samples = 64
validation = "0.5"
[pipeline]
stages = 2
replicas = 2
micro_batches = 2
micro_batch_size = 2
[checkpoint]
every = 2
[run]
steps = 5
threads = 1
eval_every = 2
eval_batch = 4
measure_processor = false
"""
SIZES = "--stages 2 --replicas 2 --micro-batches 2 --micro-batch-size 2 --schedule 1f1b --recompute stage"
SWEEP = """[sweep]
run = "run.toml"
out = "sweep"
"""
MIB = 2**20


def fullest(ranks):
    return max(rank["predicted_peak_bytes"] for rank in ranks)


def main():
    script, penstock = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run_file = folder / "run.toml"
        run_file.write_text(RUN_FILE)

        def train(*options):
            return command.run(script, "-n", 4, penstock, "train", run_file, "--out", folder / "run", *options)

        said = train()
        ranks = json.loads((folder / "run" / "summary.json").read_text())["ranks_detail"]
        most = fullest(ranks)
        text = re.search(r"predicted: .*, (\S+ MiB) on the fullest rank", said)[1]
        assert abs(float(text.split()[0]) / (most / MIB) - 1) < 0.01, (text, most)
        for rank in ranks:
            share = rank["peak_bytes"]["total"] / rank["predicted_peak_bytes"]
            assert 0.9 <= share <= 1, (share, rank)
            assert rank["snapshot_bytes"] > 0, rank

        planned = json.loads(command.run(penstock, "plan", run_file, "--ranks", 4, "--json", *SIZES.split()))["candidates"]
        assert max(planned[0]["peak_bytes"]) == most, (planned[0], most)
        assert text in command.run(penstock, "plan", run_file, "--ranks", 4, *SIZES.split()), text

        said = train("--dry-run", "--overwrite")
        dry = json.loads((folder / "run.dry-run" / "dry_run.json").read_text())["ranks_detail"]
        assert fullest(dry) == most, (fullest(dry), most)
        assert f"memory: {text} on the fullest rank" in said, (text, said)

        (folder / "sweep.toml").write_text(SWEEP)
        said = command.run(penstock, "sweep", folder / "sweep.toml", "--dry")
        assert text in said, (text, said)
        print(f"{text}, everywhere")


if __name__ == "__main__":
    main()
