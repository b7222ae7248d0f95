#!/usr/bin/env python3
"""Schedules searched for random costs: none is slower than a known one, and every certificate holds.

usage: searches.py RANKS PENSTOCK [--cases N] [--seed S] [--minutes M] [--keep DIR] [--verbose]

A case is a pipeline of 4 to 16 ranks with one or two stages on each and 8 to 64 micro-batches, whose stages' times differ up to 4 x, with
messages that take some time, and one of three limits: none, room for as many micro-batches on every rank as 1f1b has on the first, or for
half as many. Told are how many are faster than the best known schedule that fits, and the gaps to the bound.

Exit code: 0; 1 where cases fail.
"""

import json
import random
import sys

import runs

ROUNDING = 1e-9


def costs(dice):
    ranks, micro_batches = dice.randint(4, 16), dice.randint(8, 64)
    spread = dice.uniform(1, 4)
    stages = []
    for _ in range(ranks * dice.choice([1, 2])):
        forward, held = dice.uniform(1, spread), dice.randint(1000, int(1000 * spread))
        stages.append({"forward": forward, "backward_input": forward * dice.uniform(0.8, 1.4), "backward_weight": forward * dice.uniform(0.6, 1.1),
                       "held_bytes": held, "held_until_weight_bytes": held // 3})
    link = {"latency_s": dice.uniform(0, 0.3), "seconds_per_byte": 0, "overhead_s": 0, "receiver_copies": False}
    drawn = {"ranks": ranks, "micro_batches": micro_batches, "stages": stages, "links": {"within_node": link, "between_nodes": link}}
    room = dice.choice([0, min(micro_batches, ranks), max(1, min(micro_batches, ranks) // 2)])
    if room:  # for the most that a rank may hold wherever its stages are
        each = len(stages) // ranks
        largest = sum(sorted(stage["held_bytes"] for stage in stages)[-each:])
        drawn["limit_bytes"] = [room * largest] * ranks
    return drawn, f"{ranks} ranks, {len(stages)} stages, {micro_batches} micro-batches, room for {room or 'all'}"


class Searches(runs.Driver):
    gaps = []

    def case(self, number, program, folder):
        drawn, what = costs(random.Random(number))
        (folder / "costs.json").write_text(json.dumps(drawn))
        files = ["--costs", folder / "costs.json"]
        code, said = program.alone("schedule", "--search", *files, "--certificate", folder / "certificate.json", "--search-seconds", 100, "--json")
        runs.require(code == 0, f"exit code {code}: {said[-300:]}\n  {what}")
        found = json.loads(said)
        code, said = program.alone("schedule", "--verify-certificate", folder / "certificate.json", *files)
        runs.require(code == 0, f"the certificate: {said[-300:]}\n  {what}")
        gap, known = found["search"]["gap"], found["search"]["generator_makespan"]
        self.gaps.append(gap)
        if known:
            runs.require(found["makespan"] <= known * (1 + ROUNDING), f"takes {found['makespan']}, a known one {known}\n  {what}")
            self.counts["faster than the best known"] += found["makespan"] < known * (1 - ROUNDING)
            gain = f"{known / found['makespan'] - 1:.1%} faster than {found['search']['generator']}"
        else:
            self.counts["where no known one fits"] += 1
            gain = "no known one fits"
        return f"{what}: gap {gap:.2%}, {gain}"


def main():
    driver = Searches(__doc__)
    cases = driver.run(driver.case)
    driver.tell_counts(cases)
    if gaps := sorted(driver.gaps):
        print(f"gaps: median {gaps[len(gaps) // 2]:.2%}, 95 of 100 within {gaps[int(0.95 * (len(gaps) - 1))]:.2%}, largest {gaps[-1]:.2%}")
    return driver.failures != 0 or not gaps


if __name__ == "__main__":
    sys.exit(main())
