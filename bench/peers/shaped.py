"""Two hosts on a link of 2 Gbit/s: how much of what passes between them hides behind computing.

The same two ranks run on shared memory and over the link, in turn. What the step takes longer over the link,
in parts of the time that the link needs for the bytes, is exposed.
"""

import contextlib
import statistics
import subprocess

from program import HERE, ours, plan_of, span, take_turns
from specs import title, transformer

LINK = str(HERE.parent / "shaped_link.sh")
BYTES_A_SECOND = 2e9 / 8


@contextlib.contextmanager
def two_hosts():
    """Yields why there are none, or None."""
    up = subprocess.run([LINK, "up", "2gbit"], capture_output=True, text=True, check=False)
    try:
        yield up.stderr.strip().splitlines()[-1] if up.returncode else None
    finally:
        subprocess.run([LINK, "down"], check=False)


def exposed_line(arguments, name, spec, options, transfer):
    near = ours(arguments, spec, options, 2)
    far = ours(arguments, spec, options, 2, [LINK, "mpirun"])
    take_turns([near, far], arguments)
    hidden = [1 - (far - near) / transfer for near, far in zip(near.seconds, far.seconds)]
    print(
        f"| {name} | {1e3 * statistics.median(near.seconds):.1f} | {1e3 * statistics.median(far.seconds):.1f} "
        f"| {1e3 * transfer:.1f} | {100 * statistics.median(hidden):.0f} % "
        f"| {100 * min(hidden):.0f}-{100 * max(hidden):.0f} % |",
        flush=True,
    )


def head(part):
    print(f"| part {part}, 2 Gbit/s | shared memory ms | over the link ms | transfer ms | hidden | spread |")
    print("|---|---|---|---|---|---|")


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
