#!/usr/bin/env python3
"""Searched schedules beside the known ones: three networks whose layers cost unlike times are profiled on this machine,
planned, rehearsed with the ranks' virtual clocks, and trained for real by the plan's searched schedule and by the fastest
known ones, in turns. A benchmark: prints, asserts nothing.

usage: bench/searched.py [--penstock PATH] [--ranks 2 3] [--rounds 5] [--steps 8] [--known 3] [--only PART OF A NAME]
"""
import argparse
import json
import pathlib
import statistics
import tempfile

from mpirun import output_of

AMOEBANET = """
[model]
kind = "amoebanet-d"
layers = 6
filters = 64
stem = "small"
image = [3, 32, 32]
classes = 10
[data]
kind = "synthetic"
[pipeline]
micro_batches = 8
micro_batch_size = 8
"""
NMT = """
[model]
kind = "transformer-nmt"
layers = 3
width = 256
heads = 4
context = 40
vocabulary = 6000
[data]
kind = "synthetic"
[pipeline]
micro_batches = 8
micro_batch_size = 4
"""
DECODER = """
[model]
kind = "transformer-lm"
layers = 64
width = 256
heads = 4
context = 64
vocabulary = 150000
[data]
kind = "synthetic"
[pipeline]
micro_batches = 8
micro_batch_size = 1
"""
NETWORKS = [("AmoebaNet-D (6, 64)", AMOEBANET), ("NMT, 3 + 3 layers", NMT), ("decoder, vocabulary 150,000", DECODER)]
THREADS = ["--threads", "1", "--recompute", "none"]


def step_ms(penstock, ranks, run_file, profile, candidate, steps, scratch, *more):
    """The summary's step times of one run of a plan's candidate."""
    options = ["--schedule", candidate["schedule"], "--stages", str(candidate["stages"]), "--split",
               ",".join(map(str, candidate["split"])), "--pipeline.chunks", str(candidate["chunks"])]
    if candidate["warm_up"]:
        options += ["--warm-up", str(candidate["warm_up"])]
    out = scratch / "run"
    output_of(ranks, penstock, "train", str(run_file), "--overwrite", "--out", str(out), "--steps", str(steps), *THREADS, *options,
              "--pipeline.profile", str(profile), *more)
    if "--dry-run" in more:
        return json.loads(pathlib.Path(str(out) + ".dry-run", "dry_run.json").read_text())["step_ms"]
    return json.loads((out / "summary.json").read_text())["step_ms"]


def measure(arguments, ranks, run_file, scratch):
    penstock = arguments.penstock
    profile = scratch / "profile.json"
    output_of(ranks, penstock, "profile", str(run_file), "--profile-out", str(profile), *THREADS)
    plan = json.loads(output_of(0, penstock, "plan", str(run_file), "--ranks", str(ranks), "--replicas", "1", "--micro-batches", "8",
                                *THREADS, "--profile", str(profile), "--json"))
    fits = [candidate for candidate in plan["candidates"] if candidate["feasible"]]
    known = [candidate for candidate in fits if candidate["schedule"] != "searched"][:arguments.known]
    searched = [candidate for candidate in fits[:1] if candidate["schedule"] == "searched"]
    # Where a known schedule is the plan's fastest, the search is asked for its stages and split.
    searched = searched or [dict(known[0], schedule="searched", warm_up=0)]
    rows = searched + known
    rehearsed = [step_ms(penstock, ranks, run_file, profile, row, 3, scratch, "--dry-run") for row in rows]
    measured = [[] for _ in rows]
    for _ in range(arguments.rounds):  # in turns, so that each sees the machine as it is
        for row, times in zip(rows, measured):
            times.append(step_ms(penstock, ranks, run_file, profile, row, arguments.steps, scratch)["median"])
    for row, dry, times in zip(rows, rehearsed, measured):
        ratios = [time / first for time, first in zip(times, measured[0])]
        print(f"  {row['schedule']:17} {row['stages']:>2} stages  predicted {dry['predicted']:9.2f} ms  rehearsed {dry['median'] / dry['predicted']:6.4f}"
              f"  measured {statistics.median(times):9.2f} ms ({min(times):.2f}-{max(times):.2f})"
              f"  beside searched {statistics.median(ratios):5.3f} ({min(ratios):.3f}-{max(ratios):.3f})", flush=True)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(root / "build/release/bin/penstock"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--known", type=int, default=3, help="how many known schedules are run, the plan's fastest")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for name, text in (network for network in NETWORKS if arguments.only in network[0]):
        for ranks in arguments.ranks:
            print(f"{name}, {ranks} ranks", flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                run_file = pathlib.Path(scratch) / "run.toml"
                run_file.write_text(text)
                measure(arguments, ranks, run_file, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
