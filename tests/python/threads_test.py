#!/usr/bin/env python3
"""No thread is made in the steady state: two steps and eight of the same run make as many.

usage: threads_test.py PENSTOCK COUNTER TUNED NETWORK...

COUNTER is the library of tests/support/thread_count.cpp, TUNED a folder with a tokenizer and lines
to be trained on (tests/distributed/tuned).
"""

import os
import pathlib
import subprocess
import sys
import tempfile

BATCH = "--pipeline.micro_batches 2 --pipeline.micro_batch_size 2"
SYNTHETIC = "--data.kind synthetic"
NETWORKS = {
    "transformer": f"{SYNTHETIC} --model.kind transformer-lm --model.layers 2 --model.width 128 --model.vocabulary 300"
    " --model.dropout 0.1",
    "decoder": "--model.kind decoder --model.layers 2 --model.width 128 --model.context 128 --model.gated true"
    " --model.norm rms --model.positions rotary --data.kind jsonl --data.vocabulary {tuned} --data.train {tuned}/train.jsonl",
    "resnet": f"{SYNTHETIC} --model.kind resnet --model.depth 8 --model.width 16",
}


def made(program, counter, options, steps, threads):
    """The threads that a run of so many steps makes, on one rank of so many threads."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "run.toml").touch()
        words = [program, "train", here / "run.toml", *options, "--steps", steps, "--threads", threads, "--out", here / "run"]
        environment = dict(os.environ, LD_PRELOAD=counter, THREAD_COUNT=str(here / "made"))
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            sys.exit(f"{words}\nreturned {done.returncode}\n{done.stdout}{done.stderr}")
        return max(map(int, (here / "made").read_text().split()))  # those of the run, not of a program that it starts


def main():
    program, counter, tuned, *networks = sys.argv[1:]
    wrong = 0
    for network in networks:
        options = (NETWORKS[network].format(tuned=tuned) + " " + BATCH).split()
        for threads in (3, 4, 8):
            few, many = (made(program, counter, options, steps, threads) for steps in (2, 8))
            wrong += few != many
            print(f"{network}, {threads} threads: {few} made in a run of 2 steps, {many} in one of 8")
    sys.exit(1 if wrong else 0)


main()
