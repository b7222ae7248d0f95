#!/usr/bin/env python3
"""Audited trainings whose bits change on the way: every change in an audited instruction is found and named, and nothing else is.

usage: flips.py RANKS PENSTOCK [--cases N] [--seed S] [--minutes M] [--keep DIR] [--verbose]

A case is a network of bits.py, cut into stages and replicas, with run.audit = N and one changed bit in nearly every step: of an activation, a
gradient, a weight or a number of the optimizer's, on a rank from dice. What is reported must have been changed there, in that step and that
instruction. A change in an audited instruction that is not reported must be one that changes nothing: the run with it alone has the bits of one
without. Where everything is audited the whole run has them. How many were found is what N and the number of micro-batches predict.

Exit code: 0; 1 where cases fail, or the number found lies more than four deviations from the prediction.
"""

import math
import random
import re
import sys

import cuts
import networks
import runs

FLIP = re.compile(r"bit flip: rank (\d+), step (\d+), (\S+), (a weight|a state|result \d+), .* bit \d+(, audited)?$", re.MULTILINE)
REPORT = re.compile(r"(?:warning|stopped): step (\d+): (rank .*)")
FINDING = re.compile(r"rank (\d+) \(host [^)]*\): (.*?)(?=; rank \d+ \(host|; the step is taken|; nothing was saved|$)")


def cell(instruction):
    """Of "B1.2" "1.2": what an audit executes again as a whole."""
    return re.sub(r"^[A-Z]+", "", instruction)


class Flips(runs.Driver):
    def __init__(self, text):
        super().__init__(text)
        self.expected = self.variance = 0.0
        self.hits = 0

    def trained(self, program, name, shape, cut, flips):
        words = ["train", program.folder / "run.toml", "--out", program.folder / name, *shape.options(), *cut]
        program.environment["PENSTOCK_BIT_FLIPS"] = ",".join(" ".join(map(str, flip)) for flip in flips)
        return *program.run(shape.replicas * self.ranks, words), program.folder / name

    def draw_flips(self, dice, shape, steps, halves, recomputes):
        flips = []
        for step in range(3, steps):
            position = dice.randrange(self.ranks)
            replica = dice.randrange(shape.replicas)
            ops = ["F"] + (["I", "W"] if halves else ["B"]) + (["R"] if recomputes else [])
            name = f"{dice.choice(ops)}{position}.{dice.randrange(shape.micro_batches)}"
            flips.append((replica * self.ranks + position, step, name, dice.randrange(1000), dice.randrange(1 << 40), dice.randrange(32)))
        kept = dice.choice(["weight", "state", None])  # which ends the run
        if kept:
            position = dice.randrange(self.ranks)
            flips.append((position, steps, f"F{position}.0", kept, dice.randrange(1 << 40), dice.randrange(32)))
        return flips

    def case(self, number, program, folder):
        dice = random.Random(number)
        name, sections = networks.draw(dice, folder)
        steps = 16
        sections |= cuts.training(dice, steps, evaluations=0, every=0)
        sections["optimizer"]["moving_average"] = 0.0
        sections["run"]["audit"] = every = dice.choice([1, 1, 2, 3])
        sections["run"]["on_corruption"] = "retry"
        sections["run"]["on_nonfinite"] = "skip"
        sections["checkpoint"] = {"minutes": 0}
        if sections["model"].get("norm_replicas"):
            sections["model"]["norm_replicas"] = False
        (folder / "run.toml").write_text(runs.toml(sections))
        shape = cuts.Shape(dice.choice([1, 1, 2, 3]), dice.choice([1, 1, 2, 4]))
        layers, refusal = program.layers(folder / "run.toml", *networks.classes(sections))
        if layers is None:
            return self.refused("the network", refusal, name)
        self.ranks = dice.randint(1, min(4, layers))
        schedule = dice.choice(["gpipe", "1f1b", "zb-h1"])
        recompute = dice.choice(["none", "stage", "layer"])
        cut = ["--stages", self.ranks, "--schedule", schedule, "--recompute", recompute]
        flips = self.draw_flips(dice, shape, steps, schedule == "zb-h1", recompute != "none")
        what = " ".join(map(str, [name, *shape.options(), *cut, "every", every]))

        code, output, directory = self.trained(program, "flipped", shape, cut, flips)
        if code == 2:
            return self.refused("the cut", runs.cause(output), what)
        runs.require(code in (0, 6, 75), f"exit code {code}: {runs.cause(output)}\n  {what}")
        fired = [(int(rank), int(step), instruction, result, bool(audited)) for rank, step, instruction, result, audited in FLIP.findall(output)]
        reports = [(int(step), int(rank), text) for step, all_ranks in REPORT.findall(output) for rank, text in FINDING.findall(all_ranks)]

        for step, rank, text in reports:
            here = [flip for flip in fired if flip[:2] == (rank, step)]
            runs.require(here, f"step {step}, rank {rank} is reported, and nothing was changed there: {text}\n  {what}")
            if "executed twice" in text:
                named = cell(text.partition(",")[0])
                runs.require(any(cell(flip[2]) == named for flip in here), f"{text}: it was {here}\n  {what}")
            else:
                runs.require(any(not flip[3].startswith("result") for flip in here), f"{text}: it was {here}\n  {what}")

        clean = None
        for rank, step, instruction, result, audited in fired:
            found = any(report[:2] == (step, rank) for report in reports)
            is_kept = not result.startswith("result")
            owed = audited if not is_kept else step % every == 0
            if not is_kept:
                chance = 1 / shape.micro_batches if step % every == 0 else 0.0
                self.expected += chance
                self.variance += chance * (1 - chance)
                self.hits += audited
            self.counts["changed"] += 1
            if found:
                self.counts["found"] += 1
            elif not owed:
                self.counts["not audited"] += 1
            else:
                alone = [flip for flip in flips if flip[1] == step]
                clean = clean or self.trained(program, "clean", shape, cut, [])
                single = self.trained(program, "alone", shape, [*cut, "--overwrite"], alone)
                runs.require(single[0] == clean[0] == 0, f"exit codes {single[0]}, {clean[0]}: {runs.cause(single[1])}\n  {alone}\n  {what}")
                self.compare(clean[2], single[2], f"{alone} was audited and not found\n  {what}")
                self.counts["without effect"] += 1
        all_audited = all(flip[4] for flip in fired)
        if code == 0 and all_audited:
            clean = clean or self.trained(program, "clean", shape, cut, [])
            self.compare(clean[2], directory, f"all was audited and taken again\n  {what}")
            self.counts["runs with the bits of an undisturbed one"] += 1
        return what

    @staticmethod
    def compare(one, other, what):
        names = [runs.checkpoints(directory) for directory in (one, other)]
        runs.require(names[0] == names[1] and names[0], f"{what}: checkpoints {names}")
        for name in names[0]:
            try:
                runs.compare_checkpoints(one / "checkpoints" / name, other / "checkpoints" / name)
            except runs.Difference as difference:
                raise runs.Difference(f"{what}: {difference}") from None


def main():
    driver = Flips(__doc__)
    driver.tell_counts(driver.run(driver.case))
    deviation = math.sqrt(driver.variance)
    print(f"audited: {driver.hits} of the changes in instructions, predicted {driver.expected:.1f} +- {deviation:.1f}")
    sys.exit(driver.failures > 0 or abs(driver.hits - driver.expected) > 4 * deviation + 1)


if __name__ == "__main__":
    main()
