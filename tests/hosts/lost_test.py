#!/usr/bin/env python3
"""Hosts that are lost in the middle of a step: first a cable, then all processes of the host that has rank 0 and the lock of
the run directory. Each ends the job in a few seconds, with a word on why, and launch/supervise.sh goes on with the hosts
that are left, from the newest complete checkpoint.

usage: lost_test.py MPIEXEC PENSTOCK SUPERVISE
"""

import json
import sys
import time

import lab

RUN_FILE = """[model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 4
context = 16
vocabulary = 50
[data]
kind = "synthetic"
[pipeline]
stages = 3
replicas = 2
micro_batches = 4
micro_batch_size = 2
[checkpoint]
every = 20
[run]
steps = 1000000
threads = 1
wait_limit = 2.5
log_every = 1000
"""
# Of mpirun and its daemons: they notice a cut cable after 10 s, when the run itself has said which host does not answer.
KEEPALIVE = {"OMPI_MCA_oob_tcp_keepalive_time": "3", "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
             "OMPI_MCA_oob_tcp_keepalive_probes": "7"}


def steps_of(out):
    """(attempt, step) of every complete line of metrics.jsonl."""
    found = []
    for line in (out / "metrics.jsonl").read_text().splitlines():
        try:
            record = json.loads(line)
        except ValueError:  # being written
            continue
        if "step" in record:
            found.append((record["attempt"], record["step"]))
    return found


def newest(out):
    """Step of the newest complete checkpoint; 0: none."""
    return max((int(path.name.split("-")[1]) for path in (out / "checkpoints").glob("step-*")), default=0)


def gone_on(out, attempt):
    """Whether that attempt has left a checkpoint of its own."""
    steps = [step for number, step in steps_of(out) if number == attempt]
    return bool(steps) and newest(out) >= min(steps)


class Run:
    def __init__(self, hosts, mpiexec, penstock, supervise):
        self.hosts = hosts
        self.out = hosts.folder / "run"
        self.log = hosts.folder / "log"
        run_file = hosts.folder / "run.toml"
        run_file.write_text(RUN_FILE)
        hosts.environment.update(KEEPALIVE)
        # A lock whose holder is on a host that nobody can ask is anybody's after a minute, which is not waited for here.
        ranks = f"touch -c -d '2 minutes ago' {self.out}/run.lock; cat {hosts.hostfile}"
        with self.log.open("w") as log:
            self.process = hosts.start(supervise, "--delay", 0, "--reach", hosts.agent, "--ranks-command", ranks, "--mpirun",
                                       f"{mpiexec} -q --bind-to none", "--program", penstock, "--", run_file, "--out", self.out,
                                       stdout=log, stderr=log)

    def said(self, words):
        return words in self.log.read_text()

    def await_attempt(self, number, after=""):
        """Until it has left a checkpoint; how long that took, and the step it began with."""
        began = time.monotonic()
        lab.wait_for(f"a checkpoint of attempt {number}",
                     lambda: (self.out / "metrics.jsonl").exists() and gone_on(self.out, number))
        assert self.process.poll() is None, "the run has ended"
        first = min(step for attempt, step in steps_of(self.out) if attempt == number)
        print(f"attempt {number} goes on from step {first - 1} {after}, {time.monotonic() - began:.1f} s")
        return first

    def lose(self, how, host):
        """The step of the newest checkpoint then."""
        how(host)
        return newest(self.out)

    def stop(self):
        (self.out / "stop").touch()
        code = self.process.wait(timeout=30)
        assert code == 75, f"exit code {code} after a stop"


def story(run, hosts, penstock):
    assert run.await_attempt(1) == 1
    kept = run.lose(hosts.cut, "n1")
    first = run.await_attempt(2, "when n1 is cut off")
    assert run.said("(host n1) does not answer"), "the host that does not answer is not named"
    assert run.log.read_text().count("error: nothing has moved") == 1, "more than one host tells the story"
    assert run.said("left out, as they do not answer: n1\n") and run.said("4 ranks now, 6 before: planned anew")
    # One more may have been complete when the last messages came.
    assert kept < first <= kept + 21, f"went on with step {first}, from checkpoint {kept}"

    kept = run.lose(hosts.kill, "n0")
    first = run.await_attempt(3, "when n0 is dead")
    assert run.said("left out, as they do not answer: n0 n1\n") and run.said("2 ranks now, 4 before: planned anew")
    assert kept < first <= kept + 21, f"went on with step {first}, from checkpoint {kept}"
    run.stop()
    hosts.run(penstock, "inspect", run.out, "--verify")


def main():
    lab.enclose()
    mpiexec, penstock, supervise = sys.argv[1:]
    hosts = lab.Lab(3)
    run = Run(hosts, mpiexec, penstock, supervise)
    try:
        story(run, hosts, penstock)
    except BaseException:
        print(run.log.read_text())
        raise


if __name__ == "__main__":
    main()
