"""Ours and the peers', in turn within one run, as one table. bench/run.sh calls it.

Every row starts the programs that it compares, all of which then sleep until they are asked for a few
steps; they are asked in turn, so that whatever else the machine does meets all of them. A ratio is
peer / ours of one round; printed are the median over the rounds and the span.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

import overheads
import recompute
import rows as table
import scale
import shaped
from floors import Floors
from program import ours, peers, span, take_turns


# Those with columns of their own: part, name, and what prints them.
TABLES = [
    ("3", "instructions and messages", overheads.instructions_and_messages),
    ("3", "stages on a shaped link", shaped.stages),
    ("4", "recompute early and on demand", recompute.simulated),
    ("5", "replicas on a shaped link", shaped.replicas),
    ("5", "sums over replicas", overheads.sums),
    ("6", "ranks", scale.ranks),
    ("6", "schedules and plans", scale.simulated),
]


def rows_of(arguments):
    """Beside an earlier build of ours each network stands once."""
    rows = table.rows()
    return [row for row in rows if row.against is None] if arguments.before else rows


def wanted(arguments, part, name):
    return part in arguments.parts.split(",") and re.search(arguments.rows, name)


def run_row(arguments, row, floors):
    first = ours(arguments, row.spec, row.ours, row.ranks)
    if arguments.before:
        others = [ours(arguments, row.spec, row.ours, row.ranks, folder=arguments.before, name="before")]
    elif row.against is None:
        others = peers(arguments, row)
    else:
        others = [ours(arguments, row.spec, row.against, row.against_ranks)]
    take_turns([first, *others], arguments)
    best = min(others, key=lambda program: statistics.median(program.seconds))
    ratios = [theirs / mine for mine, theirs in zip(first.seconds, best.seconds)]
    floor, kind = floors.seconds(row.spec)
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


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="where step_bench is")
    parser.add_argument("--peers", type=Path, required=True, help="the environment of setup.sh")
    parser.add_argument("--before", type=Path, help="bin of an earlier build of ours, which takes the peer's place")
    parser.add_argument("--parts", default="1,2,3,4,5,6,7,8")
    parser.add_argument("--rows", default="", help="a regular expression over the names of rows and tables")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--modes", default="eager,compiled", type=lambda text: text.split(","))
    parser.add_argument(
        "--allocators", default="plain,tuned", type=lambda text: text.split(","), help="of the peer's memory (program.py)"
    )
    parser.add_argument("--json", type=Path, help="also as one JSON object a line")
    arguments = parser.parse_args()
    arguments.mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    return arguments


def main():
    arguments = arguments_of()
    floors = Floors(arguments)
    rates = floors.rates
    print(
        f"{rates['processor']}, one core: {rates['fp32']:.0f} GFLOP/s fp32, {rates['bf16']:.0f} bf16, copy {rates['copy']:.0f} GB/s "
        f"(this run); {arguments.clock} seconds a step, {arguments.rounds} rounds\n"
    )
    print("| row | ours ms | peer ms | peer / ours | spread | floor ms | share of floor | MiB ours / peer |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for row in rows_of(arguments):
        if not wanted(arguments, row.part, row.name):
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
    for part, name, print_table in [] if arguments.before else TABLES:
        if wanted(arguments, part, name):
            print()
            try:
                print_table(arguments)
            except RuntimeError as error:
                print(f"| {name} | failed: {error} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
