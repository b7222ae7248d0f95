#!/usr/bin/env python3
"""Dry runs of a pipeline beside the simulator: real MPI ranks and messages, virtual time. Prints for each
schedule and number K of ranks of a pipeline what a step took, what the simulator says, and the speed-up from K = 2
beside that of GPipe's table 2 (Transformer, 32 micro-batches: Huang et al. 2019). A name with "-free" behind it updates
without a barrier (optimizer.barrier = false); the last two columns are the gain over the first schedule at the same
K, in the dry run and in the simulator. With --link every message travels at that rate, and layers take what a profile
of this machine says; without it both are counted for a processor. A benchmark: prints, asserts nothing.

usage: bench/dry_run.py [--penstock PATH] [--schedules gpipe,1f1b] [--stages 2,4,8] [--replicas 1] [--link MB/S]
                        [--steps 5] [--micro-batches 32] [--micro-batch-size 2]
       bench/dry_run.py --schedules 1f1b,zb-h1,zb-h2-free,zb-v-free --micro-batches 8 --micro-batch-size 4
       bench/dry_run.py --schedules gpipe,1f1b,zb-h1,zb-v --stages 8 --replicas 8 --link 10
"""
import argparse
import json
import pathlib
import tempfile

from mpirun import output_of

RUN = """
[model]
kind = "transformer-lm"
layers = 16
width = 256
heads = 8
context = 128
vocabulary = 1000
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
[pipeline]
micro_batches = 32
micro_batch_size = 2
[run]
threads = 1
trace = 0
measure_processor = false
"""
PAPER = {2: 1.0, 4: 3.4 / 1.8, 8: 6.3 / 1.8}


def make_profile(given, folder):
    """The options of a profile whose links have the rate of --link."""
    path = folder / "profile.json"
    output_of(0, given.penstock, "profile", str(folder / "run.toml"), "--profile-out", str(path))
    profile = json.loads(path.read_text())
    profile["links"]["within_node"] = {"latency_s": 1e-4, "seconds_per_byte": 1e-6 / given.link, "overhead_s": 1e-5,
                                       "receiver_copies": False}
    path.write_text(json.dumps(profile))
    return ["--pipeline.profile", str(path)]


def dry_run(given, folder, links, schedule, stages):
    out = folder / "run"
    name, free = schedule.removesuffix("-free"), schedule.endswith("-free")
    chunks = 2 if name in ("zb-v", "v-half", "v-min", "dualpipev") else 1
    output_of(stages * given.replicas, given.penstock, "train", str(folder / "run.toml"), "--dry-run", "--schedule", name,
              "--stages", str(chunks * stages), "--replicas", str(given.replicas), "--steps", str(given.steps),
              "--micro-batches", str(given.micro_batches), "--micro-batch-size", str(given.micro_batch_size),
              "--optimizer.barrier", "false" if free else "true", "--out", str(out), *links)
    return json.loads(pathlib.Path(str(out) + ".dry-run", "dry_run.json").read_text())


def compare(given, folder, links, base):
    for schedule in given.schedules.split(","):
        first = None
        for stages in (int(k) for k in given.stages.split(",")):
            run = dry_run(given, folder, links, schedule, stages)
            step, bubble = run["step_ms"], run["bubble"]
            first = first or step["median"]
            before = base.setdefault(stages, step)
            gain, simulated = (100 * (before[key] / step[key] - 1) for key in ("median", "predicted"))
            paper = f"{PAPER[stages]:.2f}" if stages in PAPER else "-"
            print(f"| {schedule} | {stages} | {step['median']:.1f} | {step['predicted']:.1f} "
                  f"| {100 * (step['median'] / step['predicted'] - 1):+.2f} % | {100 * bubble['measured']:.1f} % "
                  f"| {100 * bubble['predicted']:.1f} % | {first / step['median']:.2f} | {paper} "
                  f"| {gain:+.1f} % | {simulated:+.1f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/penstock"
    parser.add_argument("--penstock", default=str(beside))
    parser.add_argument("--schedules", default="gpipe,1f1b")
    parser.add_argument("--stages", default="2,4,8")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--link", type=float, help="MB/s")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--micro-batches", type=int, default=32)
    parser.add_argument("--micro-batch-size", type=int, default=2)
    given = parser.parse_args()
    print("| schedule | K | step, ms | simulator, ms | off by | bubble | predicted | speed-up | paper | gain | simulator's |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    base = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "run.toml").write_text(RUN)
        links = make_profile(given, folder) if given.link else []
        compare(given, folder, links, base)


if __name__ == "__main__":
    main()
