#!/usr/bin/env python3
"""docs/pictures/trace.svg: trace.py PROGRAM > trace.svg

A trace as a viewer of traces shows it: a track for each stream of a rank, a box for each instruction, an arrow for each message. It is
the predicted one of `penstock schedule --format trace`, since times that were measured are others every time.
"""

import json

from drawing import WIDTH, arrow, asked, heads, legend, rect, show, text

COMMAND = "schedule --schedule 1f1b --stages 3 --micro-batches 4 --latency 0.5 --format trace"
LEFT, TOP, PITCH, HIGH, APART = 122, 74, 32, 20, 14
KINDS = {"F": "F", "B": "B", "RA": "wait", "RG": "wait", "OPT": "update"}


def tracks_of(events):
    """By number of the track: its name, and where it is drawn; ranks stand apart."""
    named = sorted((event["tid"], event["args"]) for event in events if event["name"] == "thread_name")
    return {tid: (of["name"], TOP + row * PITCH + of["rank"] * APART) for row, (tid, of) in enumerate(named)}


def arrows(events, boxes, tracks, across):
    """From the end of an instruction to the end of the wait for its message, or to the start of what needed it and did not wait."""
    ends = {}
    for event in events:
        if event["ph"] in "sf":
            box = next(one for one in boxes if one["tid"] == event["tid"] and one["ts"] <= event["ts"] < one["ts"] + one["dur"])
            is_start = event["ph"] == "f" and box["cat"] == "compute"
            ends[event["id"], event["ph"]] = across(box["ts"] + (0 if is_start else box["dur"])), tracks[box["tid"]][1]
    for event in events:
        if event["ph"] == "s":
            (x, y), (to_x, to_y) = ends[event["id"], "s"], ends[event["id"], "f"]
            y, to_y = (y + HIGH, to_y) if to_y > y else (y, to_y + HIGH)
            bend = (to_y - y) / 2
            yield arrow(f"M{x:.6g} {y}C{x:.6g} {y + bend} {to_x:.6g} {to_y - bend} {to_x:.6g} {to_y}", event["name"])


def main():
    events = json.loads(asked(*COMMAND.split()))["traceEvents"]
    tracks = tracks_of(events)
    boxes = [event for event in events if event["ph"] == "X"]
    end = max(event["ts"] + event["dur"] for event in boxes)

    def across(ts):
        return LEFT + ts / end * (WIDTH - LEFT - 12)

    parts, names = [heads("activation", "gradient"), text(LEFT, 24, "A step in trace.json", "title")], []
    parts += legend(LEFT, 46, [("F", "forward"), ("B", "backward"), ("wait", "waits for a message"), ("update", "update")])
    for name, y in tracks.values():
        parts += [text(LEFT - 8, y + 14, name, "right"), rect(LEFT, y, WIDTH - LEFT - 12, HIGH, "lane")]
    for event in boxes:
        x, y, wide = across(event["ts"]), tracks[event["tid"]][1], across(event["dur"]) - LEFT
        kind = KINDS[event["args"]["op"]]
        parts.append(rect(x, y, wide - 0.8, HIGH, kind))
        if wide > 6 * len(event["name"]):
            names.append(text(x + wide / 2, y + 14, event["name"], "middle waits" if kind == "wait" else "box"))
    parts += [*arrows(events, boxes, tracks, across), *names]
    show("A step in trace.json", f"docs/pictures/trace.py, from: penstock {COMMAND}", TOP + len(tracks) * PITCH + 2 * APART, parts)


if __name__ == "__main__":
    main()
