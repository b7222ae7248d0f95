#!/usr/bin/env python3
"""docs/pictures/messages.svg: messages.py PROGRAM > messages.svg

Who sends what to whom in a step of 3 stages x 2 replicas: the layers of a stage as `penstock plan` splits them, the messages between
stages as `penstock schedule --format trace` counts them.
"""

import json
from collections import Counter
from pathlib import Path

from drawing import arrow, asked, asked_json, heads, rect, show, text

RUN_FILE = Path(__file__).resolve().parents[2] / "launch/examples/mlp.toml"
STAGES, REPLICAS, MICRO_BATCHES = 3, 2, 4
PIPELINE = f"--stages {STAGES} --micro-batches {MICRO_BATCHES} --schedule 1f1b"
LEFT, TOP, BOX, HIGH, ACROSS, DOWN = 84, 92, 150, 76, 268, 168


def layers_of_stages():
    """First and last layer of each."""
    plan = f"plan {RUN_FILE} --ranks {STAGES * REPLICAS} --replicas {REPLICAS} {PIPELINE} --device-model a100 --json"
    split = asked_json(*plan.split())["candidates"][0]["split"]
    names = [layer["name"] for layer in asked_json("inspect", RUN_FILE, "--json")["layers"]]
    ends = [sum(split[: stage + 1]) for stage in range(STAGES)]
    return [(names[end - layers], names[end - 1]) for end, layers in zip(ends, split)]


def messages():
    """How many activations and gradients go from rank to rank of a pipeline."""
    events = json.loads(asked("schedule", *PIPELINE.split(), "--format", "trace"))["traceEvents"]
    ranks = {event["tid"]: event["args"]["rank"] for event in events if event["name"] == "thread_name"}
    ends = {(event["id"], event["ph"]): ranks[event["tid"]] for event in events if event["ph"] in "sf"}
    names = {event["id"]: event["name"] for event in events if event["ph"] == "s"}
    return Counter((name, ends[number, "s"], ends[number, "f"]) for number, name in names.items())


def between_stages(replica, sent):
    y = TOP + replica * DOWN
    for (name, sender, receiver), count in sorted(sent.items()):
        forward = receiver > sender
        x = LEFT + min(sender, receiver) * ACROSS + BOX
        at, end = (x + 4, x + ACROSS - BOX - 4) if forward else (x + ACROSS - BOX - 4, x + 4)
        up = y + (24 if forward else 54)
        yield arrow(f"M{at} {up}H{end}", name)
        yield text(x + (ACROSS - BOX) / 2, up + (-6 if forward else 17), f"{count} {name}s", "middle")


def between_replicas(stage):
    """Each sends the other its part of the gradients, and later the new weights of its own share."""
    x = LEFT + stage * ACROSS
    top, bottom = TOP + HIGH + 4, TOP + DOWN - 4
    for at, words, side in ((x + 56, "gradients", "right"), (x + 94, "weights", "")):
        yield arrow(f"M{at} {(top + bottom) / 2}V{bottom}", "between") + arrow(f"M{at} {(top + bottom) / 2}V{top}", "between")
        yield text(at + (-8 if side else 8), (top + bottom) / 2 + 5, words, side)


def main():
    parts = [heads("activation", "gradient", "between"), text(LEFT, 24, f"{STAGES} stages x {REPLICAS} replicas: what a step sends", "title")]
    parts += [text(LEFT, 46, f"to the right and back: once for each of {MICRO_BATCHES} micro-batches, from rank to rank")]
    parts += [text(LEFT, 66, "up and down: once in a step; of each weight one replica has the sum, and updates it for both")]
    layers, sent = layers_of_stages(), messages()
    for replica in range(REPLICAS):
        y = TOP + replica * DOWN
        parts.append(text(8, y + 43, f"replica {replica}", "bold"))
        for stage, (first, last) in enumerate(layers):
            x = LEFT + stage * ACROSS
            parts += [rect(x, y, BOX, HIGH, "lane"), rect(x, y, BOX, HIGH, "frame"), text(x + BOX / 2, y + 28, f"stage {stage}", "middle bold")]
            parts.append(text(x + BOX / 2, y + 52, first if first == last else f"{first} .. {last}", "middle soft"))
        parts += between_stages(replica, sent)
    for stage in range(STAGES):
        parts += between_replicas(stage)
    show("Messages of a step", f"docs/pictures/messages.py, from: penstock schedule {PIPELINE} --format trace", TOP + DOWN + HIGH + 16, parts)


if __name__ == "__main__":
    main()
