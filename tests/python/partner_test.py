#!/usr/bin/env python3
"""Copies in memory (checkpoint.partner): ranks and whole jobs that are killed at random moments lose at most one step, and
every run ends with the bits of one that nobody disturbed, at another number of stages and replicas too. What is damaged, not
whole or another run's is passed over with a line, and a directory without room is refused, or gone on without.

usage: partner_test.py RANKS PENSTOCK [--kills N] [--seed S]
"""

import argparse
import atexit
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

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 3
width = 32
heads = 4
context = 16
vocabulary = 100
dropout = 0.1
[data]
kind = "synthetic"
samples = 400
validation = 0.1
[optimizer]
kind = "adamw"
moving_average = 0.9
clip_norm = 1.0
[pipeline]
stages = 2
micro_batches = 4
micro_batch_size = 2
reduction = "exact"
[checkpoint]
every = 1000
[run]
threads = 1
eval_every = 25
"""
STEPS = 40


class Runs:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.run_file = folder / "run.toml"
        self.run_file.write_text(RUN_FILE)
        self.copies = pathlib.Path(tempfile.mkdtemp(prefix="penstock-partner-", dir="/dev/shm"))
        atexit.register(shutil.rmtree, self.copies, ignore_errors=True)
        self.out = folder / "run"

    def words(self, out, more=(), ranks=2):
        return [self.options.ranks, "-q", "-n", str(ranks), self.options.penstock, "train",
                str(self.run_file), "--steps", str(STEPS), "--resume", "auto", "--out", str(out), "--checkpoint.partner",
                "--checkpoint.partner_dir", str(self.copies), *more]

    def go(self, more=(), ranks=2, out=None, code=0):
        """To its end; what it said."""
        done = subprocess.run(self.words(out or self.out, more, ranks), capture_output=True, text=True, check=False,
                              timeout=600)
        assert done.returncode == code, f"exit code {done.returncode}: {done.stdout[-2000:]}{done.stderr}"
        return done.stdout + done.stderr

    def start(self, more=(), ranks=2):
        return subprocess.Popen(self.words(self.out, more, ranks), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def killed_after(self, step, more=(), ranks=2):
        """A run that is killed, all of it, after that step."""
        shutil.rmtree(self.out, ignore_errors=True)
        job = self.start(more, ranks)
        end = time.monotonic() + 300
        while last_step(self.out) < step:
            assert job.poll() is None and time.monotonic() < end, "the run did not get so far"
            time.sleep(0.002)
        kill_all(job)
        return last_step(self.out)

    def inspect(self, *words):
        done = subprocess.run([self.options.penstock, "inspect", *map(str, words)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-800:]}{done.stderr}"

    def expect_undisturbed(self, reference="undisturbed"):
        self.inspect(self.out, self.folder / reference)
        assert not list(self.copies.iterdir()), f"left in memory: {list(self.copies.iterdir())}"

    def slots(self):
        """Documents of whole copies: (step, rank, folder), newest first."""
        found = []
        for path in self.copies.glob("penstock-*/rank-*/[01]/copy.json"):
            document = json.loads(path.read_text())
            found.append((json.loads(document["state"])["step"], document["rank"], path.parent))
        return sorted(found, reverse=True)


def records(out):
    """Complete lines of metrics.jsonl that are of steps."""
    found = []
    if (out / "metrics.jsonl").exists():
        for line in (out / "metrics.jsonl").read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "step_ms" in record:
                found.append(record)
    return found


def last_step(out):
    return max((record["step"] for record in records(out)), default=0)


def kill_all(job):
    """All its processes at once, as a host loses them; mpirun's sessions are their own."""
    ranks = children(job)
    for process in [*ranks, job.pid]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.wait()
    for process in ranks:
        while pathlib.Path(f"/proc/{process}/cmdline").exists() and is_running(process):
            time.sleep(0.002)


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(job):
    try:
        return [int(one) for one in pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()]
    except OSError:
        return []


def most_lost(out):
    """Steps that an attempt had finished and the next one did again."""
    first, last = {}, {}
    for record in records(out):
        first.setdefault(record["attempt"], record["step"])
        last[record["attempt"]] = record["step"]
    attempts = sorted(first)
    return max((last[a] - (first[b] - 1) for a, b in zip(attempts, attempts[1:])), default=0)


def random_kills(runs, kills, dice):
    began = time.monotonic()
    done = lost = 0
    while done < kills:
        shutil.rmtree(runs.out, ignore_errors=True)
        while True:
            job = runs.start()
            # After a random step of those that are left, and a random while.
            until = last_step(runs.out) + dice.randint(1, STEPS // 3)
            while last_step(runs.out) < until and job.poll() is None:
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.02))
            if done < kills and job.poll() is None:
                if dice.random() < 0.5 and children(job):
                    os.kill(dice.choice(children(job)), signal.SIGKILL)
                    job.wait(timeout=600)
                else:
                    kill_all(job)
                done += 1
                continue
            assert job.wait(timeout=600) == 0
            break
        runs.expect_undisturbed()
        lost = max(lost, most_lost(runs.out))
    assert lost <= 1, f"{lost} steps lost"
    print(f"{done} kills in {time.monotonic() - began:.0f} s: at most {lost} step lost")


def other_grids(runs):
    """What is frozen, replicas that share updates, and another number of both afterwards."""
    frozen = ["--freeze", "blocks.0.*"]
    runs.go([*frozen, "--stages", "1", "--checkpoint.partner", "false"], 1, runs.folder / "frozen")
    for then, now, ranks in [(["--replicas", "2", "--micro-batches", "2"], ["--stages", "1"], (4, 1)),
                             (["--stages", "1", "--replicas", "2", "--micro-batches", "2"], [], (2, 2)),
                             (["--optimizer.sharded", "false", "--stages", "1", "--replicas", "2", "--micro-batches", "2"],
                              ["--stages", "3"], (2, 3))]:
        reached = runs.killed_after(10, [*frozen, *then], ranks[0])
        said = runs.go([*frozen, *now], ranks[1])
        assert "was in the memory of 1 host" in said, said
        assert most_lost(runs.out) <= 1, f"{reached}: {said}"
        runs.expect_undisturbed("frozen")


def without_a_barrier(runs):
    more = ["--optimizer.barrier", "false", "--schedule", "zb-h2"]
    runs.killed_after(10, more)
    assert "was in the memory of 1 host" in runs.go(more)
    assert most_lost(runs.out) <= 1
    runs.expect_undisturbed()


def with_two_versions(runs):
    """Killed when two steps are whole, which they mostly are: while one is overwritten it is the other alone. The newer one."""
    for _ in range(60):
        runs.killed_after(12)
        steps = [step for step, _, _ in runs.slots()]
        if sorted(steps) == sorted(2 * [max(steps), max(steps) - 1]):
            return max(steps)
        shutil.rmtree(next(runs.copies.glob("penstock-*")))
    raise AssertionError("there never were two versions")


def damage(runs):
    whole = with_two_versions(runs)
    newest = runs.slots()
    (victim,) = [folder for step, rank, folder in newest if step == whole and rank == 1]
    with (victim / "copy.safetensors").open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        byte = file.read(1)
        file.seek(-101 + 1, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    said = runs.go()
    assert f"{victim}/copy.safetensors has not the bytes that its document tells of" in said, said
    assert f"step {whole - 1} was in the memory of 1 host" in said, said
    runs.expect_undisturbed()

    runs.killed_after(12)
    for _, _, folder in runs.slots():
        (folder / "copy.json").write_text('{"format": 1')
    said = runs.go()
    assert "copy.json" in said and "it is passed over" in said and "was in the memory" not in said, said
    runs.expect_undisturbed()


def another_runs(runs):
    runs.killed_after(12)
    (foreign,) = runs.copies.glob("penstock-*")
    shutil.move(foreign, runs.folder / "foreign")
    runs.killed_after(6)
    (own,) = runs.copies.glob("penstock-*")
    shutil.rmtree(own)
    shutil.move(runs.folder / "foreign", own)
    said = runs.go()
    assert "it is another run's" in said and "was in the memory" not in said, said
    runs.expect_undisturbed()

    # An attempt that was told to begin elsewhere has made the older one's copies worthless.
    runs.killed_after(12)
    kept = runs.folder / "kept"
    shutil.copytree(next(runs.copies.glob("penstock-*")), kept)
    first = runs.start(["--checkpoint.partner", "false"])
    end = time.monotonic() + 300
    while max((record["attempt"] for record in records(runs.out)), default=0) < 2:
        assert time.monotonic() < end
        time.sleep(0.002)
    kill_all(first)
    shutil.rmtree(runs.out / "checkpoints")
    said = runs.go()
    assert "copies in memory are of an earlier attempt than 2" in said and "was in the memory" not in said, said
    shutil.rmtree(kept)
    runs.expect_undisturbed()


def no_room(runs):
    shutil.rmtree(runs.out, ignore_errors=True)
    words = runs.words(runs.out)
    for policy, code in (("stop", 3), ("continue", 0)):
        script = f"mount -t tmpfs -o size=1m none '{runs.copies}' && exec \"$@\""
        done = subprocess.run(["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", script,
                               "sh", *words, "--checkpoint.on_error", policy], capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if "mount" in said and "penstock" not in said:
            print(f"without room: not tried, {said.strip()}")
            return
        assert done.returncode == code, said
        assert "No space left on device" in said and "--checkpoint.partner_dir" in said, said
        assert ("goes on without copies in memory" in said) == (policy == "continue"), said
    runs.expect_undisturbed()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks")
    parser.add_argument("penstock")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory(prefix="penstock-partner-") as scratch:
        runs = Runs(options, pathlib.Path(scratch))
        said = runs.go(out=runs.folder / "undisturbed")
        assert "copies in memory" in said and "it is the only one" in said, said
        assert "copies in memory: one is" in said and "of which its host holds two\n" in said, said
        plain = subprocess.run([*runs.words(runs.folder / "plain"), "--checkpoint.partner", "false"], check=False,
                               capture_output=True)
        assert plain.returncode == 0
        runs.inspect(runs.folder / "plain", runs.folder / "undisturbed")
        random_kills(runs, options.kills, random.Random(options.seed))
        for story in (other_grids, without_a_barrier, damage, another_runs, no_room):
            began = time.monotonic()
            story(runs)
            print(f"{story.__name__}: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
