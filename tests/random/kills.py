#!/usr/bin/env python3
"""Trainings that are killed and stopped at random moments, and gone on with: what one is that nobody disturbed.

usage: kills.py RANKS PENSTOCK [--cases N] [--seed S] [--minutes M] [--keep DIR] [--verbose]

A case is a small training with checkpoints and evaluations, disturbed several times (a rank, all of them or mpirun; SIGKILL, a stop by
signal or by file; in the first 0.4 s, while a checkpoint is written, in an evaluation, at any time), gone on with `--resume auto`, mostly
cut up in another way each time, until it ends. Its metrics are then, line by line but for times, evaluations included, those of the
undisturbed run, and its last checkpoint is the same byte by byte. After every attempt no process is left, no lock after one whose
first rank ended by itself, checkpoints are whole, and the exit code is one that docs/errors.md has for what was done.

Exit code: 0; 1 where cases fail, or hardly any run was disturbed.
"""

import json
import random
import re
import signal
import sys
import time

import cuts
import disturbances
import networks
import runs

LEFT_OVER_S = 10  # for the last process to leave
MOST_RANKS = 3  # the many short messages of more would take minutes where others compute
MOST_STEPS_ON = 5  # of a run that was asked to stop, and is not stopped because it has come to its end
FEWEST = 20  # disturbances, of which LEAST_IN_TIME must have found the run still going
LEAST_IN_TIME = 0.5


class Training:
    """One case: a run file, and where its runs go."""

    def __init__(self, number, program):
        self.program, self.folder = program, program.folder
        self.dice = dice = random.Random(number)
        self.name, sections = networks.draw(dice, self.folder)
        self.steps = dice.choice([5, 8] if self.name == "amoebanet" else [20, 40, 60])
        self.evaluations = dice.choice([3, 5, 10])
        sections |= cuts.training(dice, self.steps, self.evaluations, every=dice.choice([2, 4, 7, 15]))
        if dice.random() < 0.2:
            sections["checkpoint"] |= {"every": 0, "minutes": 0.002}
        (self.folder / "run.toml").write_text(runs.toml(sections))
        self.shape = cuts.draw_shape(dice)
        self.layers, self.refusal = program.layers(self.folder / "run.toml", *networks.classes(sections))
        self.whole, self.out = self.folder / "whole", self.folder / "run"

    def cut_up(self):
        self.cut = cuts.draw_cut(self.dice, self.layers, self.shape, self.folder, MOST_RANKS)
        self.ranks = self.shape.replicas * self.cut.ranks

    def words(self, out):
        return ["train", self.folder / "run.toml", "--out", out, *self.shape.options(), *self.cut.words]

    def undisturbed(self):
        """Exit code and output."""
        self.cut_up()
        began = time.monotonic()
        done = self.program.run(self.ranks, self.words(self.whole))
        if done[0] == 0:
            training = json.loads((self.whole / "summary.json").read_text())["seconds"]
            self.start_s, self.step_s = time.monotonic() - began - training, training / self.steps
        return done

    def draw_disturbance(self):
        names = runs.checkpoints(self.out)
        done = int(names[-1].split("-")[1]) if names else 0
        return disturbances.Disturbance(self.dice, self.start_s + self.step_s * (self.steps - done))

    def job(self, disturbance):
        """Exit code and output of an attempt, once all its processes are gone."""
        output = self.folder / "output"
        job = self.program.start(self.ranks, [*self.words(self.out), "--resume", "auto"], output)
        if disturbance:
            disturbance.await_moment(job, self.out, self.evaluations)
            if job.poll() is None:
                disturbance.strike(job, self.ranks, self.out)
        code = self.program.end(job)
        end = time.monotonic() + LEFT_OVER_S
        while left := self.program.processes(self.out):
            if time.monotonic() > end:
                disturbances.send(left, signal.SIGKILL)
                raise runs.Difference(f"exit code {code}, but {len(left)} processes are left")
            time.sleep(0.01)
        return code, output.read_text(errors="replace")

    def attempt(self, disturbance):
        """Exit code of one; looks at what it must leave behind."""
        before = max((attempt for attempt, _ in runs.untimed_lines(self.out)), default=0)
        code, said = self.job(disturbance)
        allowed = disturbance.codes if disturbance else {0}
        runs.require(code in allowed, f"exit code {code}, not one of {sorted(allowed, key=str)}: {said[-600:]}")
        if disturbance and disturbance.heard_after is not None and code == 0:
            further = runs.last_line(self.out)["step"] - disturbance.heard_after
            runs.require(further <= MOST_STEPS_ON, f"asked to stop after step {disturbance.heard_after}, it took {further} steps more")
        names = runs.checkpoints(self.out)
        if names:
            verified, told = self.program.alone("inspect", self.out, "--verify")
            runs.require(verified == 0, told[-600:])
        if code in (0, 75):
            # A rank but the first that is asked to stop before the first step ends its job, and with it rank 0, which has the lock.
            by_another = re.search(r"stopped: rank [1-9]\d* .* before the first step", said)
            runs.require(by_another or not (self.out / "run.lock").exists(), f"exit code {code}, and a lock is left: {said[-600:]}")
            steps = [line["step"] for attempt, line in runs.untimed_lines(self.out) if attempt > before]
            runs.require(not steps or names[-1:] == [f"step-{steps[-1]:08}"],
                         f"exit code {code} after step {steps[-1:]}, but the checkpoints are {names}")
        return code

    def compare(self):
        runs.compare_metrics(runs.counted_lines(self.whole), runs.counted_lines(self.out))
        last = [runs.checkpoints(directory)[-1] for directory in (self.whole, self.out)]
        runs.require(last[0] == last[1], f"the last checkpoints are {last}")
        runs.compare_checkpoints(*(directory / "checkpoints" / last[0] for directory in (self.whole, self.out)))
        self.compare_summaries()
        if "nothing is left to train" not in (self.folder / "output").read_text():  # who writes a checkpoint clears up what a kill left
            left = [path.name for path in self.out.rglob(".*")]
            runs.require(not left, f"left in the run directory: {left}")

    def compare_summaries(self):
        """Where the attempt that took the last step has written one: it may have been killed before that."""
        path = self.out / "summary.json"
        final = json.loads(path.read_text()) if path.exists() else {"attempt": 0}
        if final["attempt"] == runs.untimed_lines(self.out)[-1][0]:
            whole = json.loads((self.whole / "summary.json").read_text())
            for key in ("final_loss", "steps"):
                runs.require(final[key] == whole[key], f"summary.json has as {key} {final[key]} and {whole[key]}")


class Kills(runs.Driver):
    def __init__(self, text):
        super().__init__(text)
        self.disturbances = self.in_time = 0

    def case(self, number, program, _folder):
        training = Training(number, program)
        code, said = (2, training.refusal) if training.layers is None else training.undisturbed()
        if code == 2:
            return self.refused("undisturbed", training.refusal or runs.cause(said), training.name)
        runs.require(code == 0, f"undisturbed, exit code {code}: {runs.cause(said)}")
        history = []
        try:
            self.disturb_until_it_ends(training, history)
            training.compare()
        except runs.Difference as difference:
            cut = " ".join(map(str, training.cut.words))
            raise runs.Difference(f"{difference}\n  attempts: {'; '.join(history)}; the last one's cut: {cut}") from None
        self.counts["runs ended as undisturbed"] += 1
        return f"{training.name}: {'; '.join(history)}"

    def disturb_until_it_ends(self, training, history):
        wanted = training.dice.randint(2, 5)
        code = None
        while code != 0:
            disturbance = training.draw_disturbance() if len(history) < wanted else None
            history.append(str(disturbance or "undisturbed"))
            code = training.attempt(disturbance)
            history[-1] += f": {code}"
            if disturbance:
                self.disturbances += 1
                self.in_time += code != 0
                self.causes[f"{disturbance.what}: exit code {code}"] += 1
            if training.dice.random() < 0.6:
                training.shape = cuts.another_shape(training.dice, training.shape)
                training.cut_up()


def main():
    driver = Kills(__doc__)
    cases = driver.run(driver.case)
    driver.tell_counts(cases)
    print(f"{driver.disturbances} disturbances, {driver.in_time} of them while the run went on")
    if driver.disturbances >= FEWEST and driver.in_time < LEAST_IN_TIME * driver.disturbances:
        print("most disturbances came too late: the driver says little")
        return 1
    return driver.failures != 0


if __name__ == "__main__":
    sys.exit(main())
