#!/usr/bin/env python3
"""Copies in memory on three hosts: one is lost with all it had, its partner has what its ranks kept, and launch/supervise.sh
goes on with the two that are left from the last step or the one before it, which has the bits of a run that nobody disturbed.
Then again with a spare host in the place of a lost one.

usage: partner_test.py MPIEXEC PENSTOCK SUPERVISE
"""

import sys

import lab
from lost_test import KEEPALIVE, steps_of

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
[pipeline]
stages = 3
replicas = 2
micro_batches = 4
micro_batch_size = 2
reduction = "exact"
[checkpoint]
every = 1000000
keep = 0
partner = true
[run]
steps = 1000000
threads = 1
wait_limit = 10
log_every = 1000
"""


class Run:
    def __init__(self, hosts, mpiexec, penstock, supervise):
        self.hosts, self.mpiexec, self.penstock = hosts, mpiexec, penstock
        self.out = hosts.folder / "run"
        self.log = hosts.folder / "log"
        self.run_file = hosts.folder / "run.toml"
        self.run_file.write_text(RUN_FILE)
        hosts.environment.update(KEEPALIVE)
        # n3 is a spare host: the third attempt has it, in the place of n0.
        self.hostfile = hosts.folder / "now"
        self.say_hosts("n0", "n1", "n2")
        ranks = f"touch -c -d '2 minutes ago' {self.out}/run.lock; cat {self.hostfile}"
        with self.log.open("w") as log:
            self.process = hosts.start(supervise, "--delay", 0, "--reach", hosts.agent, "--ranks-command", ranks, "--mpirun",
                                       f"{mpiexec} -q --bind-to none", "--program", penstock, "--", self.run_file, "--out",
                                       self.out, stdout=log, stderr=log)

    def say_hosts(self, *names):
        self.hostfile.write_text("".join(f"{name} slots=2\n" for name in names))

    def await_steps(self, attempt, count):
        """The first step of that attempt, once it has made so many."""
        def made():
            assert self.process.poll() is None, "the run has ended"
            steps = [step for number, step in steps_of(self.out) if number == attempt] if self.out.exists() and (
                self.out / "metrics.jsonl").exists() else []
            return steps if len(steps) >= count else None
        return min(lab.wait_for(f"{count} steps of attempt {attempt}", made, seconds=120))

    def last(self, attempt):
        return max(step for number, step in steps_of(self.out) if number == attempt)


def story(run, hosts):
    """The step that was rescued first."""
    assert run.await_steps(1, 8) == 1
    hosts.kill("n1")
    first = run.await_steps(2, 8)
    rescued = first - 1
    lost = run.last(1) - (first - 1)
    assert lost <= 1, f"{lost} steps lost with n1"
    said = run.log.read_text()
    assert "and of a rank on another host" in said, "there were no partners"
    assert "of which its host holds two, and two for another host; it keeps the network of a host busy for" in said
    assert "was in the memory of 2 hosts (n0, n2)" in said, "the partner's copies were not used"
    assert "4 ranks now, 6 before: planned anew" in said
    print(f"n1 lost after step {run.last(1)}: {lost} step lost; on 4 ranks from step {first}")

    # n2 holds what n0 kept, as n0's partner.
    run.say_hosts("n2", "n3")
    hosts.kill("n0")
    first = run.await_steps(3, 8)
    lost = run.last(2) - (first - 1)
    assert lost <= 1, f"{lost} steps lost with n0"
    print(f"n0 lost after step {run.last(2)}: {lost} step lost; with the spare host from step {first}")
    (run.out / "stop").touch()
    code = run.process.wait(timeout=60)
    assert code == 75, f"exit code {code} after a stop"
    for host in ("n2", "n3"):
        left = hosts.run(hosts.agent, host, "ls /dev/shm").split()
        assert not [name for name in left if name.startswith("penstock-") and len(name) == 25], f"left on {host}: {left}"
    return rescued


def compare(run, hosts, step):
    """What was rescued, with a run of as many steps on one rank that nobody has disturbed."""
    alone = hosts.folder / "alone"
    hosts.run(run.penstock, "train", run.run_file, "--out", alone, "--stages", 1, "--replicas", 1, "--micro-batches", 8,
              "--steps", step, "--checkpoint.partner", "false")
    name = f"checkpoints/step-{step:08}"
    hosts.run(run.penstock, "inspect", run.out / name, alone / name)
    print(f"the same bits after {step} steps")


def main():
    lab.enclose()
    hosts = lab.Lab(4)
    run = Run(hosts, *sys.argv[1:])
    try:
        compare(run, hosts, story(run, hosts))
    except BaseException:
        print(run.log.read_text())
        raise


if __name__ == "__main__":
    main()
