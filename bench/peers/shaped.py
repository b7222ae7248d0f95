"""Two hosts on a link of 2 Gbit/s: how much of what passes between them hides behind computing.

The same two ranks run on shared memory, over a link as fast as the cores can serve it, and over the shaped one, in
turn. What a step takes longer over the shaped link, in parts of the time that the link needs for the bytes, is
exposed: beside shared memory, and beside the fast link, on which TCP costs the cores as much.
"""

import contextlib
import statistics
import subprocess

from program import HERE, ours, plan_of, span, take_turns
from specs import title, transformer

LINK = str(HERE.parent / "shaped_link.sh")
BYTES_A_SECOND = 2e9 / 8
SHAPED = ["2gbit"]
FAST = ["100gbit", "16mb"]


@contextlib.contextmanager
def two_hosts():
    """Yields why there are none, or None."""
    up = subprocess.run([LINK, "up", *SHAPED], capture_output=True, text=True, check=False)
    try:
        yield up.stderr.strip().splitlines()[-1] if up.returncode else None
    finally:
        subprocess.run([LINK, "down"], check=False)


def over_link(arguments, spec, options, rate):
    program = ours(arguments, spec, options, 2, [LINK, "mpirun"])
    program.before_turn = lambda: subprocess.run([LINK, "rate", *rate], check=True)
    return program


def percent(share):
    return f"{100 * statistics.median(share):.0f} % ({100 * min(share):.0f}-{100 * max(share):.0f})"


def exposed_line(arguments, name, spec, options, transfer):
    near = ours(arguments, spec, options, 2)
    fast = over_link(arguments, spec, options, FAST)
    far = over_link(arguments, spec, options, SHAPED)
    take_turns([near, fast, far], arguments)
    times = " | ".join(f"{1e3 * statistics.median(program.seconds):.1f}" for program in (near, fast, far))
    hidden = [
        percent([1 - (slow - quick) / transfer for quick, slow in zip(base.seconds, far.seconds)]) for base in (near, fast)
    ]
    print(f"| {name} | {times} | {1e3 * transfer:.1f} | {hidden[0]} | {hidden[1]} |", flush=True)


def head(part):
    print(f"| part {part} | shared memory ms | fast link ms | 2 Gbit/s ms | transfer ms | hidden | beside the fast link |")
    print("|---|---|---|---|---|---|---|")


def stages(arguments):
    spec = transformer(128, 256, 8, 16, layers=2) | {"vocabulary": 1024}
    tokens = spec["micro_batch_size"] * spec["context"]
    transfer = 2 * spec["micro_batches"] * tokens * spec["width"] * 4 / BYTES_A_SECOND
    head(3)
    with two_hosts() as reason:
        for schedule in ("gpipe", "1f1b-deep"):
            name = f"2 stages, {schedule}, {title(spec)}"
            options = {"pipeline.stages": 2, "pipeline.schedule": schedule, "pipeline.split": "2,3"}
            if reason:
                print(f"| {name} | skipped: {reason} |")
            else:
                exposed_line(arguments, name, spec, options, transfer)


def replicas(arguments):
    spec = transformer(256, 256, 8, 1, layers=12) | {"vocabulary": 1024}
    head(5)
    with two_hosts() as reason:
        name = f"2 replicas, {title(spec)}, vocabulary {spec['vocabulary']}"
        if reason:
            print(f"| {name} | skipped: {reason} |")
            return
        gradient_bytes = 4 * plan_of(arguments, spec, 1)["parameters"]
        # Each way half of them to their owner and half of the sums back.
        exposed_line(arguments, name, spec, {"pipeline.replicas": 2}, gradient_bytes / BYTES_A_SECOND)
