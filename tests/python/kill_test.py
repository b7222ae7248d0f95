#!/usr/bin/env python3
"""Ranks that are killed at any moment: the newest checkpoint is always whole, and nothing else is lost.

usage: kill_test.py RANKS PENSTOCK [--kills N] [--seed S] [--steps N]

Trains a small network on three ranks, kills a random rank with SIGKILL at a random time, while a
checkpoint is being written as long as that was so at fewer than a third of the kills, verifies the
latest checkpoint and goes on from it, until the run has reached its last step; again with a new run
until there were N kills. Every run must end with the weights and optimizer state, bit for bit, of
one that nobody disturbed. CTest kills a few times; for the record it is run by hand with 200.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from command import run

EVERY = 30
RUN_FILE = """[model]
kind = "transformer-lm"
layers = 3
width = 64
heads = 4
context = 32
vocabulary = 100
dropout = 0.1
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
moving_average = 0.9
clip_norm = 1.0
[pipeline]
stages = 3
micro_batches = 4
micro_batch_size = 2
[checkpoint]
every = %d
keep = 2
[run]
threads = 1
"""


class Trainer:
    def __init__(self, script, penstock, run_file, steps):
        self.penstock = penstock
        self.words = [script, "-n", "3", penstock, "train",
                      run_file, "--steps", str(steps), "--resume", "auto", "--out"]

    def start(self, out):
        return subprocess.Popen([*self.words, str(out)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def inspect(self, *words):
        done = subprocess.run([self.penstock, "inspect", *map(str, words)], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-500:]}{done.stderr}"
        return done.stdout


def ranks_of(job):
    """Processes that this mpirun has started."""
    try:
        children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    except OSError:
        return []
    return [int(pid) for pid in children]


def is_being_written(out):
    return any((out / "checkpoints").glob(".step-*.partial"))


def last_step(out):
    """The highest in metrics.jsonl; its last line may be half."""
    highest = 0
    if (out / "metrics.jsonl").exists():
        for line in (out / "metrics.jsonl").read_text().splitlines():
            try:
                highest = max(highest, json.loads(line).get("step", 0))
            except ValueError:
                pass
    return highest


def disturb(job, out, inside, usual, dice):
    """Waits for the moment and kills a rank. False: the run had ended by then."""
    until = time.monotonic() + dice.uniform(0.2, usual)
    while time.monotonic() < until and job.poll() is None:
        time.sleep(0.001)
    if inside:
        while not is_being_written(out) and job.poll() is None:
            time.sleep(0.0002)
        time.sleep(dice.uniform(0, 0.02))
    ranks = ranks_of(job)
    if job.poll() is not None or not ranks:
        return False
    try:
        os.kill(dice.choice(ranks), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def one_run(trainer, out, usual, kills, table, dice):
    """Until the run has ended by itself; kills while there are kills left."""
    while True:
        job = trainer.start(out)
        try:
            inside = 3 * table["inside a write"] <= table["kills"]
            killed = table["kills"] < kills and disturb(job, out, inside, usual, dice)
            code = job.wait(timeout=120)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
        if code == 0:
            return
        assert killed, f"a run that nobody disturbed returned {code}"
        table["kills"] += 1
        table["inside a write"] += is_being_written(out)
        checkpoints = out / "checkpoints"
        if not any(checkpoints.glob("step-*")):
            table["before the first checkpoint"] += 1
            continue
        trainer.inspect(out, "--verify")
        step = int(os.readlink(checkpoints / "latest").split("-")[1])
        table["most steps lost"] = max(table["most steps lost"], last_step(out) - step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks")
    parser.add_argument("penstock")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    dice = random.Random(options.seed)
    table = {"kills": 0, "inside a write": 0, "before the first checkpoint": 0, "runs": 0,
             "most steps lost": 0}
    with tempfile.TemporaryDirectory(prefix="penstock-kill-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "run.toml").write_text(RUN_FILE % EVERY)
        trainer = Trainer(options.ranks, options.penstock, str(folder / "run.toml"), options.steps)
        began = time.monotonic()
        run(*trainer.words, folder / "undisturbed")
        usual = time.monotonic() - began
        while table["kills"] < options.kills:
            out = folder / "run"
            shutil.rmtree(out, ignore_errors=True)
            one_run(trainer, out, usual, options.kills, table, dice)
            trainer.inspect(out, folder / "undisturbed")
            table["runs"] += 1
    print(", ".join(f"{what}: {number}" for what, number in table.items()),
          f"(of {EVERY} between two checkpoints); every run ended with the same bits")
    # What was copied is lost while it is being written, with the steps taken meanwhile.
    return 0 if table["most steps lost"] <= 2 * EVERY else 1


if __name__ == "__main__":
    sys.exit(main())
