"""Ours and the peers', in turn within one run, as one table. bench/run.sh calls it.

Every row starts the programs that it compares, all of which then sleep until they are asked for a few
steps; they are asked in turn, so that whatever else the machine does meets all of them. A ratio is
peer / ours of one round; printed are the median over the rounds and the span.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import rows as table

HERE = Path(__file__).resolve().parent


class Program:
    """One that answers "measure N" (step_bench.cpp, meter.py)."""

    def __init__(self, name, command, clock):
        self.name, self.clock = name, clock
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
        )
        self.seconds, self.rss, self.steps = [], 0.0, 1

    def measure(self, count):
        self.process.stdin.write(f"measure {count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: {self.process.stderr.read()[-600:]}")
        return json.loads(line)

    def warm_up(self, seconds):
        """Compiles, allocates and counts how many steps a turn has."""
        self.measure(3)
        took = statistics.median(self.measure(3)["wall"])
        self.steps = max(1, min(50, round(seconds / took)))

    def turn(self):
        answer = self.measure(self.steps)
        self.rss = max(self.rss, answer["rss"])
        self.seconds.append(statistics.median(answer[self.clock]))

    def quit(self):
        self.process.stdin.close()
        self.process.wait()


def flags(options):
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def ours(arguments, name, spec, options, ranks):
    command = [str(arguments.bin / "step_bench"), *flags(table.options(spec) | options)]
    if ranks > 1:
        command = [*arguments.mpirun, "-n", str(ranks), *command]
    return Program(name, command, arguments.clock)


def peers(arguments, row):
    python = str(arguments.peers / "bin" / "python")
    if row.ranks > 1:
        command = [python, str(HERE / "two_ranks.py"), json.dumps(row.spec)]
        return [Program("PyTorch", command, arguments.clock)]
    return [
        Program(
            mode,
            [python, str(HERE / "one_rank.py"), json.dumps(row.spec | {"mode": mode})],
            arguments.clock,
        )
        for mode in arguments.modes
    ]


def span(values):
    return f"{min(values):.2f}-{max(values):.2f}"


def run_row(arguments, row, floors):
    first = ours(arguments, "ours", row.spec, row.ours, row.ranks)
    if row.against is None:
        others = peers(arguments, row)
    else:
        others = [ours(arguments, "ours", row.spec, row.against, row.against_ranks)]
    programs = [first, *others]
    try:
        for program in programs:
            program.warm_up(arguments.seconds)
        for _ in range(arguments.rounds):
            for program in programs:
                program.turn()
    finally:
        for program in programs:
            program.quit()
    best = min(others, key=lambda program: statistics.median(program.seconds))
    ratios = [theirs / mine for mine, theirs in zip(first.seconds, best.seconds)]
    floor, kind = table.floor_seconds(row.spec, floors)
    if row.ranks > 1 and row.part != "5":
        floor /= 2
    mine = statistics.median(first.seconds)
    return {
        "part": row.part,
        "row": row.name,
        "ours_ms": 1e3 * mine,
        "peer": best.name,
        "peer_ms": 1e3 * statistics.median(best.seconds),
        "ratio": statistics.median(ratios),
        "spread": span(ratios),
        "ideal": row.ideal,
        "floor_ms": 1e3 * floor,
        "floor": kind,
        "share": floor / mine,
        "ours_mib": first.rss / 2**20,
        "peer_mib": min(program.rss for program in others) / 2**20,
        "all_ms": {program.name: 1e3 * statistics.median(program.seconds) for program in others},
    }


def line_of(result):
    ideal = f", {result['ratio'] / result['ideal']:.2f} of ideal" if result["ideal"] else ""
    return (
        f"| {result['row']} | {result['ours_ms']:.2f} | {result['peer_ms']:.2f} {result['peer']} "
        f"| {result['ratio']:.2f}{ideal} | {result['spread']} "
        f"| {result['floor_ms']:.2f} {result['floor']} | {100 * result['share']:.0f} % "
        f"| {result['ours_mib']:.0f} / {result['peer_mib']:.0f} |"
    )


def answer_of(command):
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def overheads(arguments):
    """Part 3: what an empty instruction costs, and a message beside bare MPI."""
    print("\n| part 3 | ours us | peer us | ratio | spread |\n|---|---|---|---|---|")
    times = answer_of([str(arguments.bin / "overhead_bench")])[0]["instruction_us"]
    print(f"| an instruction with an empty layer | {statistics.median(times):.2f} | goal 3 | | {span(times)} |")
    for name, copy in (("CMA", "cma"), ("no single copy", "none")):
        mode = ["--mca", "btl_vader_single_copy_mechanism", copy]
        command = [*arguments.mpirun, *mode, "-n", "2", str(arguments.bin / "message_bench")]
        for size in answer_of(command):
            ratios = [a / b for a, b in zip(size["link_us"], size["mpi_us"])]
            print(
                f"| message of {size['bytes'] >> 10} KiB, {name} | {statistics.median(size['link_us']):.1f} "
                f"| {statistics.median(size['mpi_us']):.1f} bare MPI | {statistics.median(ratios):.2f} | {span(ratios)} |",
                flush=True,
            )


def scale(arguments):
    """Part 6: start-up, and CPU time of a rank's step, as ranks are added; a tiny network."""
    print("\n| part 6 | from start to the first step, s | CPU us a step and rank | an instruction |")
    print("|---|---|---|---|")
    micro_batches = 8
    for ranks in (2, 4, 8, 16, 32, 64):
        options = {
            "model.kind": "mlp",
            "model.input": 16,
            "model.layers": ranks,
            "model.hidden": 16,
            "model.classes": 4,
            "run.threads": 1,
            "run.device": "cpu",
            "pipeline.stages": ranks,
            "pipeline.micro_batches": micro_batches,
            "pipeline.recompute": "none",
        }
        command = [*arguments.mpirun, "-n", str(ranks), str(arguments.bin / "step_bench")]
        start = time.monotonic()
        program = Program("ours", [*command, *flags(options)], "cpu")
        program.measure(1)
        started = time.monotonic() - start
        program.measure(20)
        spent = 1e6 * statistics.median(program.measure(100)["cpu"]) / ranks
        program.quit()
        # Forward, backward, two sends and two receives of each micro-batch; the update.
        each = spent / (6 * micro_batches + 1)
        print(f"| {ranks} ranks | {started:.2f} | {spent:.0f} | {each:.2f} |", flush=True)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="where step_bench is")
    parser.add_argument("--peers", type=Path, required=True, help="the environment of setup.sh")
    parser.add_argument("--parts", default="1,2,3,4,5,6")
    parser.add_argument("--rows", default="", help="a regular expression over the rows' names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--modes", default="eager,compiled", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path, help="also as one JSON object a line")
    arguments = parser.parse_args()
    arguments.mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    return arguments


def main():
    arguments = arguments_of()
    floors = answer_of([str(arguments.bin / "floor_bench")])[0]
    print(
        f"One core: {floors['fp32']:.0f} GFLOP/s fp32, {floors['bf16']:.0f} bf16, copy {floors['copy']:.0f} GB/s "
        f"(this run); {arguments.clock} seconds a step, {arguments.rounds} rounds\n"
    )
    print("| row | ours ms | peer ms | peer / ours | spread | floor ms | share of floor | MiB ours / peer |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    parts = arguments.parts.split(",")
    for row in table.rows():
        if row.part not in parts or not re.search(arguments.rows, row.name):
            continue
        try:
            result = run_row(arguments, row, floors)
        except RuntimeError as error:
            print(f"| {row.name} | failed: {error} |", flush=True)
            continue
        print(line_of(result), flush=True)
        if arguments.json:
            with arguments.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
    if "3" in parts:
        overheads(arguments)
    if "6" in parts:
        scale(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
