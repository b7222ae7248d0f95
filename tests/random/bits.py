#!/usr/bin/env python3
"""Trainings cut up at random, each beside its twin on one rank a replica: the same bits.

usage: bits.py RANKS PENSTOCK [--cases N] [--seed S] [--minutes M] [--keep DIR] [--verbose]

A case is a network with data of its own, a training, and a cut of it: stages, replicas, schedule, recompute, split, chunks, reduction,
wire, barrier, sharding and what else must change no bit. Checkpoints are compared byte by byte, metrics line by line but for times. A run
that both refuse with the same words agrees; what one of the two refuses is counted by its cause, and no agreement.

Exit code: 0; 1 where cases fail, or too few were compared.
"""

import random
import sys

import cuts
import networks
import runs

# What a cut may be refused for though its twin is not: of each the reason why that is right.
RIGHT_REFUSALS = {}
FEWEST = 20  # cases, of which LEAST_COMPARED must have been compared
LEAST_COMPARED = 0.7


class Bits(runs.Driver):
    def trained(self, program, name, shape, cut):
        """(exit code, output, run directory)"""
        words = ["train", program.folder / "run.toml", "--out", program.folder / name, *shape.options(), *cut.words]
        return *program.run(shape.replicas * cut.ranks, words), program.folder / name

    def case(self, number, program, folder):
        dice = random.Random(number)
        name, sections = networks.draw(dice, folder)
        steps = dice.randint(2, 6)
        sections |= cuts.training(dice, steps, evaluations=dice.choice([0, 1, 2, 3]), every=dice.choice([1, 2, 3, 5]))
        shape = cuts.draw_shape(dice)
        if shape.exact and "norm_replicas" in sections["model"]:  # which is refused with more than one replica, and so in one of the two
            sections["model"]["norm_replicas"] = False
        (folder / "run.toml").write_text(runs.toml(sections))
        layers, refusal = program.layers(folder / "run.toml", *networks.classes(sections))
        if layers is None:
            return self.refused("the network", refusal, name)
        narrow = dice.random() < 0.15
        cut, twin_shape = cuts.draw_cut(dice, layers, shape, folder, narrow=narrow), cuts.another_shape(dice, shape)
        rounds = narrow and sections["run"]["precision"] == "fp32"
        twin = cuts.other_schedule(dice, cut) if rounds else cuts.plain(twin_shape)
        one = self.trained(program, "one", twin_shape, twin)
        other = self.trained(program, "other", shape, cut)
        what = " ".join(map(str, [name, sections["data"]["kind"], *shape.options(), *cut.words]))
        try:
            return self.compare(one, other, what)
        except runs.Difference as difference:
            raise runs.Difference(f"{difference}\n  {what}\n  beside {' '.join(map(str, [*twin_shape.options(), *twin.words]))}") from None

    def compare(self, one, other, what):
        codes = one[0], other[0]
        causes = [runs.cause(run[1]) if run[0] != 0 else "" for run in (one, other)]
        for code, why in zip(codes, causes):
            runs.require(code in (0, 2, 6), f"exit code {code}: {why}")
        if 2 in codes:
            if codes == (2, 2) and causes[0] == causes[1]:
                return self.refused("both", causes[0], what)
            who = "both, in other words" if codes == (2, 2) else "the cut alone" if codes[1] == 2 else "the twin alone"
            why = " | ".join(filter(None, causes))
            right = any(text in why for text in RIGHT_REFUSALS)
            runs.require(right, f"refused, {who}: {why}")
            return self.refused(who, why, what)
        runs.require(codes[0] == codes[1], f"exit codes {codes}: {causes}")
        runs.require(causes[0] == causes[1], f"they end with {causes}")
        runs.compare_metrics(runs.counted_lines(one[2]), runs.counted_lines(other[2]))
        names = [runs.checkpoints(run[2]) for run in (one, other)]
        runs.require(names[0] == names[1], f"the checkpoints are {names}")
        for name in names[0]:
            runs.compare_checkpoints(one[2] / "checkpoints" / name, other[2] / "checkpoints" / name)
        self.counts["compared" if codes[0] == 0 else "compared up to a step that is not finite"] += 1
        return what


    def spoiled(self, _number, program, folder):
        """Another seed is another result: else the comparisons would say nothing."""
        sections = {"model": {"kind": "mlp", "input": [5], "classes": 5}, "data": {"kind": "synthetic"},
                    "run": {"steps": 2, "threads": 1, "measure_processor": False}}
        (folder / "run.toml").write_text(runs.toml(sections))
        twin = cuts.plain(cuts.Shape(1, 1))
        one, other = (self.trained(program, str(seed), cuts.Shape(1, 1), cuts.Cut(1, ["--seed", seed], twin.ways)) for seed in (1, 2))
        for compare in (lambda: runs.compare_metrics(runs.counted_lines(one[2]), runs.counted_lines(other[2])),
                        lambda: runs.compare_checkpoints(*(run[2] / "checkpoints" / "step-00000002" for run in (one, other)))):
            try:
                compare()
            except runs.Difference:
                continue
            raise runs.Difference("two seeds are told to give the same")
        return "two seeds differ"


def main():
    driver = Bits(__doc__)
    driver.once(driver.spoiled)
    cases = driver.run(driver.case)
    driver.tell_counts(cases)
    compared = sum(count for what, count in driver.counts.items() if what.startswith("compared"))
    if cases >= FEWEST and compared < LEAST_COMPARED * cases:
        print(f"only {compared} of {cases} cases were compared: the driver draws too much that is refused")
        return 1
    return driver.failures != 0


if __name__ == "__main__":
    sys.exit(main())
