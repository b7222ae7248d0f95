"""Start-up, checkpoints and a step's bookkeeping as ranks are added; schedules and plans beyond."""

import json
import statistics
import tempfile
import time
from pathlib import Path

from program import Program, flags, answers_of, run_quietly

MICRO_BATCHES = 8
CHECKPOINTS = 10


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


def steps(arguments, stages, replicas):
    """Seconds to the first step, and CPU microseconds of a step and rank."""
    ranks = stages * replicas
    command = [*arguments.mpirun, "-n", str(ranks), str(arguments.bin / "step_bench")]
    start = time.monotonic()
    program = Program("ours", [*command, *flags(tiny_run(stages, replicas))], "cpu")
    program.measure(1)
    started = time.monotonic() - start
    program.measure(20)
    spent = 1e6 * statistics.median(program.measure(50)["cpu"]) / ranks
    program.quit()
    return started, spent


def checkpoint_ms(arguments, stages, replicas):
    """What a step takes longer that saves one."""
    command = [*arguments.mpirun, "-n", str(stages * replicas), str(arguments.bin / "penstock"), "train", "/dev/null"]
    seconds = []
    with tempfile.TemporaryDirectory() as scratch:
        for every in (1, 0):
            options = tiny_run(stages, replicas) | {
                "run.out": f"{scratch}/{every}",
                "run.steps": CHECKPOINTS,
                "checkpoint.every": every,
                "checkpoint.last": "false",
            }
            run_quietly([*command, *flags(options)])
            summary = Path(scratch, str(every), "summary.json").read_text(encoding="utf-8")
            seconds.append(json.loads(summary)["seconds"])
    return 1e3 * (seconds[0] - seconds[1]) / CHECKPOINTS


def ranks(arguments):
    print("| part 6 | start to first step, s | CPU us a step and rank | an instruction | a checkpoint, ms |")
    print("|---|---|---|---|---|")
    for stages, replicas in [(2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (64, 1), (1, 8), (1, 64), (8, 8)]:
        started, spent = steps(arguments, stages, replicas)
        saved = checkpoint_ms(arguments, stages, replicas)
        # Forward, backward, two sends and two receives of each micro-batch; the update.
        each = spent / ((6 if stages > 1 else 2) * MICRO_BATCHES + 1)
        print(f"| {stages} x {replicas} | {started:.2f} | {spent:.0f} | {each:.2f} | {saved:.1f} |", flush=True)


def simulated(arguments):
    """Seconds alone matter here: nothing is measured but this machine's one core."""
    print("| part 6, 1f1b, no ranks | make, lower, verify, simulate, s | plan, s |\n|---|---|---|")
    for stages in (64, 256, 1024):
        command = [str(arguments.bin / "schedule_scale"), str(stages), str(4 * stages), "1f1b"]
        words = run_quietly(command).splitlines()[-1].split()
        spec = ["--model.layers", str(stages), "--model.width", "1024", "--data.kind", "synthetic"]
        start = time.monotonic()
        answers_of(
            [str(arguments.bin / "penstock"), "plan", "/dev/null", "--ranks", str(stages), "--json", *spec]
        )
        planned = time.monotonic() - start
        print(f"| {stages} x {4 * stages} | {' + '.join(words[1:5])} | {planned:.2f} |", flush=True)
