#!/usr/bin/env python3
"""Searched schedules of small random problems beside a mixed-integer program, which HiGHS solves by scipy.

usage: searches_test.py PENSTOCK [--small N] [--larger N] [--seconds S]

Small are N problems of at most 3 ranks and 4 micro-batches, without and with limits of memory in turn, where the search says that it has tried all
orders; larger are N of 4 ranks and 6 micro-batches. HiGHS gets the search's step as an upper bound, finds it again, and proves that no order takes less,
or says after S seconds that it has no proof; then it has found no shorter step, and its bound is not above the search's step. Both bounds hold
for the best step that the other one knows. Skipped (77) where Python has not the package.
"""
import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from command import run, skip

try:
    import numpy
    from scipy import optimize, sparse
except ImportError as missing:
    skip(missing, "scipy")

ROUNDING = 1e-6
# HiGHS (of scipy 1.17) calls some problems infeasible, or ends in an error, that it solves with more room, and once "proved" that no order takes
# less than 1.01 times what it found itself with more room, and with less.
ROOM = (1.1, 1.5, 2, 4)
FORWARD, INPUT, WEIGHT = range(3)


def problem(dice, ranks, micro_batches, limited):
    stages = []
    for _ in range(ranks):
        forward, held = dice.uniform(1, 4), dice.randint(1000, 4000)
        stages.append({"forward": forward, "backward_input": forward * dice.uniform(0.5, 1.5), "backward_weight": forward * dice.uniform(0.2, 1.2),
                       "held_bytes": held, "held_until_weight_bytes": held * dice.randint(0, 4) // 4})
    link = {"latency_s": dice.choice([0, dice.uniform(0, 0.5)]), "seconds_per_byte": 0, "overhead_s": 0, "receiver_copies": False}
    drawn = {"ranks": ranks, "micro_batches": micro_batches, "stages": stages, "links": {"within_node": link, "between_nodes": link}}
    if limited:
        drawn["limit_bytes"] = [dice.randint(1, ranks) * stage["held_bytes"] + dice.randint(0, 999) for stage in stages]
    return drawn


class Program:
    """The mixed-integer program: a beginning for every part, and for two parts of a rank whose order is open which comes first."""

    def __init__(self, drawn, longest):
        self.drawn, self.longest = drawn, longest
        self.stages, self.count = drawn["stages"], drawn["micro_batches"]
        self.parts = [(s, part, j) for s in range(len(self.stages)) for part in (FORWARD, INPUT, WEIGHT) for j in range(self.count)]
        self.column = {part: i for i, part in enumerate(self.parts)}
        self.columns = len(self.parts) + 1  # the last of these is the end of the step
        self.first = {}  # by two parts: the column that is 1 where the first comes first
        self.rows, self.least = [], []
        self.follow()
        self.share_ranks()
        self.keep_limits()

    def time(self, part):
        return self.stages[part[0]][("forward", "backward_input", "backward_weight")[part[1]]]

    def at_least(self, terms, least):
        self.rows.append(terms)
        self.least.append(least)

    def after(self, part, before, wait=0):
        self.at_least({self.column[part]: 1, self.column[before]: -1}, self.time(before) + wait)

    def follow(self):
        """What an instruction needs has come, each kind of a stage ascends, and the step ends with the last of all."""
        latency = self.drawn["links"]["within_node"]["latency_s"]
        for part in self.parts:
            s, kind, j = part
            self.at_least({len(self.parts): 1, self.column[part]: -1}, self.time(part))
            if j > 0:
                self.after(part, (s, kind, j - 1))
            if kind == FORWARD and s > 0:
                self.after(part, (s - 1, FORWARD, j), latency)
            if kind == INPUT:
                self.after(part, (s, FORWARD, j))
                if s + 1 < len(self.stages):
                    self.after(part, (s + 1, INPUT, j), latency)
            if kind == WEIGHT:
                self.after(part, (s, INPUT, j))

    def share_ranks(self):
        for one in self.parts:
            for other in self.parts:
                # A later kind of an earlier micro-batch may come on either side; all else is in order already.
                if one[0] != other[0] or one[1] <= other[1] or one[2] >= other[2]:
                    continue
                first = self.first[one, other] = self.columns
                self.columns += 1
                self.at_least({self.column[other]: 1, self.column[one]: -1, first: -self.longest}, self.time(one) - self.longest)
                self.at_least({self.column[one]: 1, self.column[other]: -1, first: self.longest}, self.time(other))

    def keep_limits(self):
        """At every forward: what has begun until then, less what has ended before it."""
        for s, limit in enumerate(self.drawn.get("limit_bytes", [])):
            held, rest = self.stages[s]["held_bytes"], self.stages[s]["held_until_weight_bytes"]
            for j in range(self.count):
                terms = {}
                for k in range(j):
                    terms[self.first[(s, INPUT, k), (s, FORWARD, j)]] = held - rest
                    terms[self.first[(s, WEIGHT, k), (s, FORWARD, j)]] = rest
                self.at_least(terms, (j + 1) * held - limit)

    def solve(self, seconds):
        entries = [(row, column, value) for row, terms in enumerate(self.rows) for column, value in terms.items()]
        rows, columns, values = zip(*entries)
        matrix = sparse.csr_array((values, (rows, columns)), shape=(len(self.rows), self.columns))
        cost = numpy.zeros(self.columns)
        cost[len(self.parts)] = 1
        whole = numpy.zeros(self.columns)
        whole[len(self.parts) + 1:] = 1
        upper = numpy.where(whole == 1, 1, self.longest)
        return optimize.milp(cost, integrality=whole, bounds=optimize.Bounds(0, upper), constraints=optimize.LinearConstraint(matrix, self.least, numpy.inf),
                             options={"time_limit": seconds, "mip_rel_gap": ROUNDING / 10})


def compare(drawn, penstock, folder, seconds, name):
    """Whether HiGHS had a proof; leaves where the two do not agree."""
    costs = folder / "costs.json"
    costs.write_text(json.dumps(drawn))
    found = json.loads(run(penstock, "schedule", "--search", "--costs", costs, "--json"))
    step, bound = found["makespan"], found["search"]["bound"]
    for room in ROOM:
        solved = Program(drawn, step * room).solve(seconds)
        contradicts = solved.mip_dual_bound is not None and solved.mip_dual_bound > step * (1 + 2 * ROUNDING)
        if solved.status in (0, 1) and not contradicts:
            break
    if solved.status not in (0, 1):
        sys.exit(f"{name}: HiGHS says '{solved.message}' of a step of at most {step}, which was found: {json.dumps(drawn)}")
    if solved.x is not None and solved.fun < max(step, bound) * (1 - 2 * ROUNDING) and solved.status == 0:
        sys.exit(f"{name}: HiGHS needs {solved.fun}, the search {step}, of at least {bound}: {json.dumps(drawn)}")
    if solved.x is not None and solved.fun < bound * (1 - ROUNDING):
        sys.exit(f"{name}: HiGHS needs {solved.fun}, which is below the bound of {bound}: {json.dumps(drawn)}")
    if contradicts:
        sys.exit(f"{name}: HiGHS says that no order takes less than {solved.mip_dual_bound}, and {step} was found: {json.dumps(drawn)}")
    print(f"{name}: {step:g}, bound {bound:g}, HiGHS {'proves it' if solved.status == 0 else 'has no proof'}", flush=True)
    return solved.status == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    parser.add_argument("--small", type=int, default=20, help="by hand: 200")
    parser.add_argument("--larger", type=int, default=1, help="by hand: 20")
    parser.add_argument("--seconds", type=float, default=20, help="for HiGHS, each problem; by hand: 600")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        proved = 0
        for number in range(options.small + options.larger):
            dice = random.Random(number)
            larger = number >= options.small
            ranks, micro_batches = (4, 6) if larger else (dice.randint(1, 3), dice.randint(1, 4))
            drawn = problem(dice, ranks, micro_batches, number % 2 == 1)
            name = f"problem {number}, {ranks} ranks, {micro_batches} micro-batches, {'limited' if number % 2 else 'no limit'}"
            proved += compare(drawn, options.penstock, Path(scratch), options.seconds, name)
    print(f"{options.small + options.larger} problems, {proved} proved by HiGHS")


if __name__ == "__main__":
    main()
