"""Signals and the like from dice: at which moment of a job, to whom, and which exit codes may follow (docs/errors.md)."""

import os
import pathlib
import signal
import time

import runs

MOMENTS = ["early", "early", "any", "any", "writing", "evaluation", "end"]
MEANS = [("rank", signal.SIGKILL), ("rank", signal.SIGKILL), ("all", signal.SIGKILL), ("launcher", signal.SIGKILL),
         ("rank", signal.SIGTERM), ("all", signal.SIGTERM), ("rank", signal.SIGUSR1), ("launcher", signal.SIGUSR1),
         ("launcher", signal.SIGUSR2), ("launcher", signal.SIGTERM), ("launcher", signal.SIGINT), ("file", None)]
PAUSE_S = 0.001  # between two looks


def catches(process, number):
    """Whether it has said what it does about that signal: until then the signal ends it."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return int(mask, 16) >> (number - 1) & 1 == 1


def send(processes, number):
    """Those that are still there get it."""
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


class Disturbance:
    """One attempt's: when, to whom and what; `codes` are the exit codes that may follow."""

    def __init__(self, dice, expected):
        """`expected`: seconds that the attempt should take."""
        self.moment = dice.choice(MOMENTS)
        self.whom, self.signal = dice.choice(MEANS)
        between = {"early": (0, 0.4), "end": (0.7 * expected, 1.1 * expected)}
        self.wait = dice.uniform(*between.get(self.moment, (0, 0.9 * expected)))
        self.further = dice.uniform(0, 0.01)  # into a checkpoint or an evaluation
        self.rank = dice.random()
        self.codes = {0}
        self.heard_after = None  # steps; where a rank was asked to stop that can be asked: SIGKILL cannot be caught

    @property
    def what(self):
        return f"{self.signal.name} to {self.whom}" if self.signal else "file stop"

    def __str__(self):
        return f"{self.what} at {self.wait:.3f} s ({self.moment})"

    def await_moment(self, job, out, evaluations):
        while job.poll() is None and not runs.has_ranks(job):
            time.sleep(PAUSE_S)
        until = time.monotonic() + self.wait
        while time.monotonic() < until and job.poll() is None:
            time.sleep(PAUSE_S)
        seen = {"writing": lambda: any((out / "checkpoints").glob(".step-*.partial")),
                "evaluation": lambda: evaluation_is_due(out, evaluations)}.get(self.moment)
        if seen:
            while job.poll() is None and not seen():
                time.sleep(PAUSE_S)
            time.sleep(self.further)

    def strike(self, job, count, out):
        """Does it to a job of `count` ranks, and says in `codes` what may come of it."""
        if self.whom == "file":
            if out.exists():  # the run makes its directory when it begins
                (out / "stop").touch()
                self.codes.add(75)
            return
        ranks = runs.children(job.pid)
        targets = {"launcher": [job.pid], "all": ranks, "rank": ranks[int(self.rank * len(ranks)):][:1]}[self.whom]
        if self.signal == signal.SIGKILL:
            self.codes |= {-9} if self.whom == "launcher" else {137, *runs.FAULTS_OF_LAUNCHER}
        elif self.whom == "launcher" and self.signal in (signal.SIGTERM, signal.SIGINT):
            self.codes |= {1, *runs.FAULTS_OF_ENDING_LAUNCHER}  # mpirun's own: it kills its ranks
        else:
            self.codes.add(75)
        if len(ranks) < count or not all(catches(process, self.signal) for process in [job.pid, *ranks]):
            # The program, or mpirun, has hardly begun.
            self.codes |= {128 + self.signal, -self.signal, *runs.FAULTS_OF_LAUNCHER}
        asks_ranks = self.whom != "launcher" and any(catches(process, self.signal) for process in targets)
        send(targets, self.signal)
        if asks_ranks:
            self.heard_after = runs.last_line(out)["step"]


def evaluation_is_due(out, every):
    """The last line of the metrics is that of a step with an evaluation."""
    last = runs.last_line(out)
    return "eval" not in last and last["step"] > 0 and last["step"] % every == 0
