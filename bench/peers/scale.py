"""Start-up, bookkeeping and checkpoints as ranks are added; schedules and plans beyond.

Ranks that share cores spend CPU time on waiting for their turn, so bookkeeping is what instructions take that wait
for nobody.
"""

import json
import re
import statistics
import tempfile
import time
from pathlib import Path

from program import DEFAULTS, Program, answers_of, flags, run_quietly

MICRO_BATCHES = 8
STEPS = 12


def tiny_run(stages, replicas):
    return {
        "model.kind": "mlp",
        "model.input": 16,
        "model.layers": stages,
        "model.hidden": 16,
        "model.classes": 4,
        "data.kind": "synthetic",
        "run.threads": 1,
        "run.device": "cpu",
        "pipeline.stages": stages,
        "pipeline.replicas": replicas,
        "pipeline.micro_batches": MICRO_BATCHES,
        "pipeline.recompute": "none",
    }


def start_s(arguments, stages, replicas):
    """Until the first step is done."""
    command = [*arguments.mpirun, "-n", str(stages * replicas), str(arguments.bin / "step_bench")]
    start = time.monotonic()
    program = Program("ours", [*command, *flags(tiny_run(stages, replicas))], "cpu")
    program.measure(1)
    started = time.monotonic() - start
    program.quit()
    return started


def trained(arguments, stages, replicas, every, out):
    """The run directory of a few steps that save a checkpoint each, or none."""
    command = [*arguments.mpirun, "-n", str(stages * replicas), str(arguments.bin / "penstock"), "train", str(DEFAULTS)]
    options = tiny_run(stages, replicas) | {
        "run.out": str(out),
        "run.overwrite": "true",
        "run.steps": STEPS,
        "run.trace": STEPS - 2,
        "checkpoint.every": every,
        "checkpoint.last": "false",
    }
    run_quietly([*command, *flags(options)])
    return out


def seconds(out):
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))["seconds"]


def instruction_us(out):
    """Forward, backward and sends of one micro-batch, medians: what waits for nobody."""
    events = json.loads((out / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    took = {}
    for event in events:
        if event["ph"] == "X" and event["pid"] == 0:
            took.setdefault(re.match("[A-Z]+", event["name"])[0], []).append(event["dur"])
    return sum(statistics.median(took.get(op, [0])) for op in ("F", "B", "SA", "SG"))


def ranks(arguments):
    print("| part 6, stages x replicas | start to first step, s | F, B and sends of a micro-batch, us | a checkpoint, ms |")
    print("|---|---|---|---|")
    for stages, replicas in [(2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (64, 1), (1, 8), (1, 64), (8, 8)]:
        started = start_s(arguments, stages, replicas)
        with tempfile.TemporaryDirectory() as scratch:
            saving = trained(arguments, stages, replicas, 1, Path(scratch) / "saving")
            plain = trained(arguments, stages, replicas, 0, Path(scratch) / "plain")
            saved = 1e3 * (seconds(saving) - seconds(plain)) / STEPS
            each = instruction_us(plain)
        print(f"| {stages} x {replicas} | {started:.2f} | {each:.1f} | {saved:.1f} |", flush=True)


def simulated(arguments):
    print("| part 6, 1f1b, no ranks | make, lower, verify, window, simulate, s | plan of a mini-batch of 4,096, s |\n|---|---|---|")
    for stages in (64, 256, 1024):
        command = [str(arguments.bin / "schedule_scale"), str(stages), str(4 * stages), "1f1b"]
        words = run_quietly(command).splitlines()[-1].split()
        spec = ["--model.layers", str(stages), "--model.vocabulary", "32000", "--data.kind", "synthetic"]
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as run:
            # In the file, so that the plan is free to cut the mini-batch up otherwise.
            run.write("[pipeline]\nmicro_batches = 4096\nmicro_batch_size = 1\n")
            run.flush()
            start = time.monotonic()
            answers_of(
                [str(arguments.bin / "penstock"), "plan", run.name, "--ranks", str(stages), "--json", *spec]
            )
            planned = time.monotonic() - start
        print(f"| {stages} x {4 * stages} | {' + '.join(words[1:6])} | {planned:.2f} |", flush=True)
