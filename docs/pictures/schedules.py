#!/usr/bin/env python3
"""docs/pictures/schedules.svg: schedules.py PROGRAM > schedules.svg

Four schedules of the same step on four ranks, under one another on one time axis, as `penstock schedule --json` times them.
"""

from drawing import WIDTH, asked_json, legend, path, rect, show, text

SIZES = "--micro-batches 8 --json"
SCHEDULES = {
    "gpipe": "--stages 4",
    "1f1b": "--stages 4",
    "interleaved-1f1b": "--stages 8 --chunks 2",
    "zb-h1": "--stages 4",
}
LEFT, TOP, LANE, BLOCK = 60, 78, 19, 112


def lane(spans, y, unit, ranks):
    yield rect(LEFT, y, WIDTH - LEFT - 12, LANE - 3, "lane")
    for name, start, end in spans:
        stage, micro_batch = name[1:].split(".")
        paler = " paler" if int(stage) >= ranks else ""
        yield rect(LEFT + start * unit, y, (end - start) * unit - 0.8, LANE - 3, name[0] + paler)
        yield text(LEFT + (start + end) / 2 * unit - 0.4, y + 12, micro_batch, "box")


def block(name, drawn, y, unit):
    share = drawn["makespan_bubble"] / drawn["makespan"]
    held = max(drawn["peak_stash"])
    stages = " half stages" if drawn["stages"] > drawn["ranks"] else ""
    yield text(LEFT, y, name, "bold")
    yield text(WIDTH - 12, y, f"ends at {drawn['makespan']:g}, bubble {100 * share:.1f} %, keeps {held}{stages}", "right")
    for rank, spans in enumerate(drawn["timeline"]):
        yield text(LEFT - 8, y + 20 + rank * LANE, f"rank {rank}", "right")
        yield from lane(spans, y + 7 + rank * LANE, unit, drawn["ranks"])


def main():
    drawn = {name: asked_json("schedule", "--schedule", name, *f"{sizes} {SIZES}".split()) for name, sizes in SCHEDULES.items()}
    unit = (WIDTH - LEFT - 12) / max(one["makespan"] for one in drawn.values())
    parts = [text(LEFT, 24, "One step of 8 micro-batches on 4 ranks", "title")]
    meanings = [("F", "forward"), ("B", "backward, or its input half"), ("W", "weight half")]
    parts += [*legend(LEFT, 46, meanings), text(556, 46, "paler: second stage of a rank")]
    for number, (name, one) in enumerate(drawn.items()):
        y = TOP + number * BLOCK
        parts += block(name, one, y, unit)
        end = LEFT + one["makespan"] * unit
        parts.append(path(f"M{end:.6g} {y + 4}v{4 * LANE + 3}", "line"))
    show("Four schedules of one step", f"docs/pictures/schedules.py, from: penstock schedule ... {SIZES}", TOP + 4 * BLOCK - 20, parts)


if __name__ == "__main__":
    main()
