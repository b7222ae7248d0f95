"""Recomputing at K = 4: early, in the wait for the gradient, beside on demand, once it has come.

Four ranks that share two cores hide nothing in one another's waits, so this is simulated, from costs
measured here.
"""

import json
import tempfile
from pathlib import Path

from program import DEFAULTS, answers_of, flags, run_quietly
import specs


def stage_times(arguments, spec, stages):
    """Forward, input and weight gradients of a mean stage, ms, as `penstock profile` measures them."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "profile.json"
        penstock = [str(arguments.bin / "penstock"), "profile", str(DEFAULTS), "--profile-out", str(out)]
        run_quietly([*penstock, *flags(specs.options(spec))])
        layers = json.loads(out.read_text(encoding="utf-8"))["layers"]
    keys = ("forward_s", "backward_input_s", "backward_weight_s")
    return [1e3 * sum(layer[key] for layer in layers) / stages for key in keys]


def makespan(arguments, schedule, stages, micro_batches, times, mode):
    command = [str(arguments.bin / "penstock"), "schedule", "--json", "--schedule", schedule]
    command += ["--stages", str(stages), "--micro-batches", str(micro_batches), "--recompute", mode]
    return answers_of([*command, "--times", ",".join(map(str, times))])[0]["makespan"]


def simulated(arguments):
    stages = 4
    spec = specs.transformer(256, 256, 1, 8, layers=8)
    forward, inputs, weights = stage_times(arguments, spec, stages)
    print("| part 4, simulated, 4 ranks | kept ms | on demand ms | early ms | early / on demand |")
    print("|---|---|---|---|---|")
    for schedule in ("gpipe", "1f1b"):
        for micro_batches in (1, 4, 8, 32):

            def step(times, mode):
                return makespan(arguments, schedule, stages, micro_batches, times, mode)

            kept = step((forward, inputs, weights), "none")
            demand = step((forward, forward + inputs, weights), "none")
            early = step((forward, inputs, weights), "stage")
            print(
                f"| {schedule}, M {micro_batches} | {kept:.1f} | {demand:.1f} | {early:.1f} | {early / demand:.2f} |",
                flush=True,
            )
