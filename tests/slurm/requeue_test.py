#!/usr/bin/env python3
"""launch/batch/slurm.sh under a Slurm of two nodes: the job is told that its time is nearly over, leaves a checkpoint, is
queued again and finishes, with the weights, to the bit, of a run that nobody disturbed. By srun and by mpirun.

usage: requeue_test.py MPIEXEC PENSTOCK SCRIPT [--walltime]

Slurm's clock is of minutes, so the test sends the signal itself; with --walltime (by hand) Slurm does.
"""

import sys
import time

import cluster
from cluster import lab

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 4
context = 16
vocabulary = 50
dropout = 0.1
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
clip_norm = 1.0
[pipeline]
stages = 4
micro_batches = 4
micro_batch_size = 2
[checkpoint]
every = 10
[run]
steps = %d
threads = 1
log_every = 1000
"""


class Job:
    def __init__(self, slurm, launcher, words, script):
        self.slurm = slurm
        self.launcher = launcher
        self.out = slurm.hosts.folder / launcher
        self.log = slurm.hosts.folder / f"{launcher}.log"
        self.number = slurm.run("sbatch", "--parsable", "--nodes", 2, "--ntasks-per-node", 2, "--cpus-per-task", 1, *words,
                                f"--export=ALL,PENSTOCK_LAUNCH={launcher}", "--output", self.log, script,
                                slurm.hosts.folder / "run.toml", "--out", self.out).strip()

    def has_checkpoint(self):
        return any((self.out / "checkpoints").glob("step-*"))

    def is_done(self):  # of a job that is queued again, other ends are told in between
        return self.slurm.job(self.number)["JobState"] == "COMPLETED"

    def check(self, penstock, undisturbed):
        log = self.log.read_text()
        state = self.slurm.job(self.number)
        assert int(state["Restarts"]) >= 1, f"{state}\n{log}"
        for words in ("exit code 75: queued again", "start 2: 4 ranks", "resumed after step"):
            assert words in log, f"no '{words}' in:\n{log}"
        self.slurm.run(penstock, "inspect", self.out, undisturbed)
        stopped = [line for line in log.splitlines() if " stopped after step" in line]
        print(f"{self.launcher}: {stopped[0].partition(', with')[0]}; the same weights at the end, to the bit")


def main():
    cluster.enclose()
    mpiexec, penstock, script = sys.argv[1:4]
    by_hand = sys.argv[4:] == ["--walltime"]
    hosts = lab.Lab(2)
    (hosts.folder / "run.toml").write_text(RUN_FILE % (2000 if by_hand else 400))
    hosts.environment["PENSTOCK"] = penstock
    slurm = cluster.Cluster(hosts)
    words = ["--time", "1", "--signal", "B:USR1@20"] if by_hand else []
    jobs = [Job(slurm, launcher, words, script) for launcher in ("srun", "mpirun")]
    try:
        waiting = [] if by_hand else list(jobs)
        while waiting:
            job = lab.wait_for("a first checkpoint", lambda: next(filter(Job.has_checkpoint, waiting), None))
            waiting.remove(job)
            # What --signal=B:USR1 sends, and to whom.
            slurm.run("scancel", "--batch", "--signal=USR1", job.number)
        hosts.run(mpiexec, "-n", 1, penstock, "train", hosts.folder / "run.toml", "--stages", 1,
                  "--out", hosts.folder / "undisturbed")
        for job in jobs:
            lab.wait_for(f"the end of the job by {job.launcher}", job.is_done, 500 if by_hand else 120, pause=0.5)
            job.check(penstock, hosts.folder / "undisturbed")
    except BaseException:
        print(*(job.log.read_text() for job in jobs if job.log.exists()), slurm.logs(), sep="\n")
        raise


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"{time.monotonic() - began:.1f} s")
