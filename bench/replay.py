#!/usr/bin/env python3
"""Dry runs of 64 ranks beside `penstock plan --replay`: 8 stages x 8 replicas on this machine alone, then as two hosts of
32 (network namespaces, bench/shaped_link.sh) between which messages take their virtual time by the link that a profile
says. All of a stage's replicas are on one host, so that all activations between two stages cross that link. Each message
has a network card of its own, which is all that a dry run can tell (`plan --cards 0`). A benchmark: prints, asserts nothing.

usage: bench/replay.py [--penstock PATH] [--rates 400,160,80] [--steps 4]

Layers take what a profile of this machine says. Needs root for the hosts.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from mpirun import ENVIRONMENT, MPIRUN

RUN = """
[model]
kind = "transformer-lm"
layers = 16
width = 32
heads = 2
context = 2048
vocabulary = 1000
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
[pipeline]
stages = 8
replicas = 8
micro_batches = 32
micro_batch_size = 1
schedule = "1f1b"
placement = "replicas"
[run]
threads = 1
trace = 0
"""
PINNED = ["--stages", "8", "--replicas", "8", "--micro-batches", "32", "--micro-batch-size", "1", "--schedule", "1f1b",
          "--recompute", "stage", "--placement", "replicas"]
LINK = str(pathlib.Path(__file__).resolve().parent / "shaped_link.sh")
# Ranks of one host by shared memory; messages whole, so that they do not wait for answers behind others.
APART = [LINK, "mpirun", "--oversubscribe", "--mca", "btl_tcp_eager_limit", "400000",
         "--mca", "btl_tcp_rndv_eager_limit", "400000"]


def quiet(words, **more):
    environment = dict(ENVIRONMENT, PENSTOCK_SLOTS="32", PENSTOCK_BTL="self,vader,tcp")
    return subprocess.run(words, check=True, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, **more).stdout


def make_profile(penstock, folder):
    path = folder / "profile.json"
    quiet(MPIRUN + ["-n", "2", penstock, "profile", str(folder / "run.toml"), "--stages", "2", "--replicas", "1",
                  "--profile-out", str(path)])
    return json.loads(path.read_text())


def compare(penstock, folder, profile, rate, steps):
    """Prints a row; `rate` in Mbit/s, None: one host."""
    if rate:
        profile["links"]["between_nodes"] = {"latency_s": 3e-5, "seconds_per_byte": 8e-6 / rate, "overhead_s": 0.0,
                                             "receiver_copies": False}
    path = folder / "links.json"
    path.write_text(json.dumps(profile))
    run_file = str(folder / "run.toml")
    plan = json.loads(quiet([penstock, "plan", run_file, "--ranks", "64", "--nodes", "2" if rate else "1", "--cards", "0",
                             "--profile", str(path), "--replay", "1", "--json"] + PINNED))
    replayed = plan["candidates"][0]["replayed"]
    out = folder / "run"
    quiet((APART if rate else MPIRUN) + ["-n", "64", penstock, "train", run_file, "--dry-run", "--pipeline.profile",
                                       str(path), "--steps", str(steps), "--out", str(out)])
    step = json.loads(pathlib.Path(str(out) + ".dry-run", "dry_run.json").read_text())["step_ms"]["median"]
    print(f"| {'two, ' + str(rate) + ' Mbit/s' if rate else 'one'} | {step:.0f} | {replayed['step_ms']:.0f} "
          f"| {100 * (step / replayed['step_ms'] - 1):+.2f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/penstock"
    parser.add_argument("--penstock", default=str(beside))
    parser.add_argument("--rates", default="400,160,80")
    parser.add_argument("--steps", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "run.toml").write_text(RUN)
        profile = make_profile(given.penstock, folder)
        print("| hosts | 64 dry ranks, ms | replay, ms | off by |\n|---|---|---|---|", flush=True)
        compare(given.penstock, folder, profile, None, given.steps)
        try:
            quiet([LINK, "up"])
            for rate in (int(r) for r in given.rates.split(",") if r):
                compare(given.penstock, folder, profile, rate, given.steps)
        finally:
            subprocess.run([LINK, "down"], check=False)


if __name__ == "__main__":
    main()
