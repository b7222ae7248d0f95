#!/usr/bin/env python3
"""Training on three hosts gives the weights, to the bit, that it gives on one; and the trace has one clock, although every
host has another.

usage: bits_test.py MPIEXEC PENSTOCK
"""

import pathlib
import sys

import lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import trace_rules

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 4
context = 16
vocabulary = 50
dropout = 0.1
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
clip_norm = 1.0
[pipeline]
micro_batches = 4
micro_batch_size = 2
[run]
steps = 4
threads = 1
"""
# Name, hosts, and the options: ranks in the order of their hosts, two on each.
RUNS = [
    ("one-1", 1, "--stages 1"),
    ("one-2", 1, "--stages 1 --replicas 2"),
    ("neighbours-are-stages", 3, "--stages 3 --replicas 2 --placement stages"),
    ("neighbours-are-replicas", 3, "--stages 3 --replicas 2 --placement replicas"),
    ("six-stages", 3, "--stages 6 --schedule 1f1b"),
]


# Quiet, it is 15 to 45 us; where other tests run, an answer may wait for a core. The clocks are 5,000 s apart.
MOST_ERROR_US = 100e3


def check_clocks(hosts, folder, count):
    """What was sent on one host arrives on another no earlier, by clocks that are hours apart."""
    found = trace_rules.check(folder / "trace.json")
    assert found["clocks"] == (count if hosts.own_clocks else 1), found
    assert found["error_us"] < MOST_ERROR_US, found
    return found


def main():
    lab.enclose()
    mpiexec, penstock = sys.argv[1:]
    hosts = lab.Lab(3)
    run_file = hosts.folder / "run.toml"
    run_file.write_text(RUN_FILE)
    for name, count, options in RUNS:
        words = options.split()
        ranks = int(words[1]) * (int(words[3]) if "--replicas" in words else 1)
        hosts.run(mpiexec, "--bind-to", "none", "-n", ranks, "--hostfile", hosts.hostfile, penstock, "train", run_file,
                  "--out", hosts.folder / name, *words)
        clocks = check_clocks(hosts, hosts.folder / name, count)
        if count == 1:
            assert hosts.received("n1") < 100e3, "a run on one host has used the next one"
        else:
            reference = "one-2" if "--replicas" in words else "one-1"
            hosts.run(penstock, "inspect", hosts.folder / name, hosts.folder / reference)
    sent = {name: hosts.received(name) for name in hosts.names}
    assert min(sent.values()) > 200e3, f"the runs were not on all hosts: bytes sent {sent}"
    print(f"{len(RUNS)} runs, the same weights to the bit; bytes sent by the hosts: {sent}; the last trace: {clocks}")


if __name__ == "__main__":
    main()
