#!/usr/bin/env python3
"""Plans of random networks on random clusters: what is recommended is what a replay finds fastest.

usage: plans.py RANKS PENSTOCK [--cases N] [--seed S] [--minutes M] [--keep DIR] [--verbose]

A case is a network, a mini-batch and a cluster: nodes, ranks a node, a device model, and at times links and cards of its own. The first
choice must take what it says by a replay of its own, and no more than 5 % longer than the best replay of the twenty best and of layouts
that the plan left out, drawn from it. A plan must not take more than ten seconds of a processor.

Exit code: 0; 1 where cases fail.
"""

import json
import random
import resource
import sys

import runs

DEVICES = ["cpu", "h100", "a100", "rtx-4090", "v100-16gb", "v100-32gb"]
LAYOUT = ["stages", "replicas", "micro-batches", "micro-batch-size", "schedule", "recompute", "placement"]
OTHERS = 4  # layouts that were left out, of each plan
OWN_FIGURE, BEST = 0.10, 0.05  # shares by which the first choice may be off its own figure, and slower than the best replay
LONGEST_S = 10


def network(dice):
    kind = dice.choice(["transformer-lm", "decoder", "mlp", "resnet"])
    if kind == "mlp":
        return {"kind": kind, "input": [64], "classes": 10, "hidden_layers": [dice.choice([256, 2048])] * dice.randint(4, 24)}
    if kind == "resnet":
        return {"kind": kind, "depth": dice.choice([20, 56]), "image": [3, 32, 32], "classes": 100}
    heads = dice.choice([4, 8])
    return {"kind": kind, "layers": dice.randint(6, 24), "heads": heads, "width": heads * dice.choice([32, 64, 128]),
            "context": dice.choice([64, 256]), "vocabulary": dice.choice([1000, 16000])}


def cluster(dice):
    """(options, ranks)"""
    nodes, each = dice.choice([2, 3, 4, 8]), dice.choice([2, 4, 6, 8])
    words = ["--ranks", nodes * each, "--nodes", nodes, "--device-model", dice.choice(DEVICES)]
    if dice.random() < 0.5:
        words += ["--link-inter", dice.choice([0.5, 2, 20]), "--latency-inter", dice.choice([5, 50])]
    if dice.random() < 0.5:
        words += ["--cards", dice.choice([0, 1, 2, each])]
    return words, nodes * each


def words_of(candidate):
    words = [word for name in LAYOUT for word in (f"--{name}", candidate[name.replace("-", "_")])]
    return words + (["--pipeline.chunks", candidate["chunks"]] if candidate["chunks"] > 1 else [])


class Plans(runs.Driver):
    def planned(self, program, words):
        """The candidates of a plan, the best of them replayed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        code, said = program.alone("plan", program.folder / "run.toml", *words, "--replay", 20, "--json")
        runs.require(code in (0, 3), f"exit code {code}: {runs.cause(said)}")  # 3: nothing fits
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        runs.require(took < LONGEST_S, f"the plan took {took:.1f} s of a processor")
        return json.loads(said)["candidates"]

    def case(self, number, program, folder):
        dice = random.Random(number)
        words, ranks = cluster(dice)
        sections = {"model": network(dice), "data": {"kind": "synthetic"}, "run": {"measure_processor": False},
                    "pipeline": {"mini_batch": ranks * dice.choice([1, 4, 12])},
                    "optimizer": {"sharded": dice.choice(["auto", "false"]), "barrier": True}}
        (folder / "run.toml").write_text(runs.toml(sections))
        what = " ".join(map(str, [sections["model"]["kind"], sections["pipeline"]["mini_batch"], *words]))
        candidates = self.planned(program, words)
        if not candidates[0]["simulated"]:
            return self.refused("the plan", "nothing fits", what)
        replays = [candidate["replayed"]["step_ms"] for candidate in candidates if "replayed" in candidate]
        said, first = candidates[0]["step_ms"], replays[0]
        runs.require(abs(first - said) <= OWN_FIGURE * said, f"a step of {said} ms takes {first} ms by its replay\n  {what}")
        left_out = [candidate for candidate in candidates if candidate["reason"].startswith("cannot be faster")]
        for other in dice.sample(left_out, min(OTHERS, len(left_out))):
            alone = self.planned(program, [*words, *words_of(other)])[0]
            if alone["simulated"]:
                replays.append(alone["replayed"]["step_ms"])
                self.counts["layouts that were left out, replayed"] += 1
        runs.require(first <= (1 + BEST) * min(replays), f"the first choice takes {first} ms, another one {min(replays)} ms\n  {what}")
        self.counts["plans compared"] += 1
        self.counts["plans that place by replicas"] += candidates[0]["placement"] == "replicas"
        return f"{first:.4g} ms, {len(replays)} replays: {what}"


def main():
    driver = Plans(__doc__)
    cases = driver.run(driver.case)
    driver.tell_counts(cases)
    return driver.failures != 0 or driver.counts["plans compared"] * 2 < cases


if __name__ == "__main__":
    sys.exit(main())
