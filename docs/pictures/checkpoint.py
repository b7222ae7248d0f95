#!/usr/bin/env python3
"""docs/pictures/checkpoint.svg: checkpoint.py PROGRAM > checkpoint.svg

The life of a checkpoint (runtime/records/checkpoint/writer/, runtime/records/checkpoint/layout.cpp). The program prints none of it, so
this is drawn by hand; the test of the pages looks up every word of class "code" in those sources.
"""

from drawing import WIDTH, legend, path, rect, show, text

LEFT, TOP, PITCH, HIGH = 130, 76, 42, 28
SHARDS, DOCUMENTS, NAMES, RETIRED, END = 276, 470, 584, 676, 768  # where phases begin
WRITTEN = 446  # by all ranks; they go on together, at the end of a step
LANES = ["training", "threads of ranks", "thread of rank 0"]
TABLE, ROW = 318, 42
KILLS = [  # where, when, what is left of it, what the next start does
    (360, "while files are written", [".step-00000100.partial"], "goes on from step 90"),
    (600, "before the step has its name", [".step-00000100.partial", ".latest.next"], "goes on from step 90"),
    (625, "the same, over an older step 100", [".step-00000100.replaced", ".step-00000100.partial"], "goes on from that step 100"),
    (654, "when it has, before latest is moved", ["step-00000100", ".latest.next"], "moves it, goes on from step 100"),
    (722, "while an old one is removed", ["step-00000100", ".step-00000070.partial"], "goes on from step 100"),
]


def box(lane, start, end, kind, words, code=False):
    y = TOP + lane * PITCH
    return rect(start, y, end - start - 2, HIGH, kind) + text((start + end) / 2 - 1, y + 18, words, "box code" if code else "box")


def mark(x, y, number):
    return f'<circle class="mark" cx="{x}" cy="{y}" r="9"/>' + text(x, y + 4, number, "box marked")


def lanes():
    for lane, name in enumerate(LANES):
        yield text(LEFT - 8, TOP + lane * PITCH + 18, name, "right") + rect(LEFT, TOP + lane * PITCH, END - LEFT, HIGH, "lane")
    steps = [LEFT, 206, SHARDS, 373, DOCUMENTS, 567, 664, END]
    for number, (start, end) in enumerate(zip(steps, steps[1:])):
        if start == 206:
            yield rect(start, TOP, end - start - 2, HIGH, "wait") + text(start + 35, TOP + 18, "Snapshot", "middle code")
        else:
            yield box(0, start, end, "F", f"step {100 + number - (number > 0)}")
    yield box(1, SHARDS, WRITTEN, "file", "write_shard", True)
    yield box(2, DOCUMENTS, NAMES, "file", "write_documents", True)
    yield box(2, NAMES, RETIRED, "file", "publish_step", True)
    yield box(2, RETIRED, END, "file", "retire_steps", True)
    for x in (SHARDS, DOCUMENTS, NAMES, RETIRED):
        yield path(f"M{x - 1} {TOP + HIGH}V{TOP + 3 * PITCH + 4}", "line")


def explained():
    """What each of the threads' boxes does, below it."""
    y = TOP + 3 * PITCH + 18
    lines = [
        (SHARDS, ["model-...safetensors", "optimizer-...safetensors", "each synced, in", ".step-00000100.partial"]),
        (DOCUMENTS, ["state.json", "manifest.json", "synced, too"]),
        (NAMES, [".latest.next", "rename", "sync", "latest"]),
        (RETIRED, ["older ones, by", "checkpoint.keep"]),
    ]
    prose = {"each synced, in", "synced, too", "rename", "sync", "older ones, by", "checkpoint.keep"}
    for x, words in lines:
        for row, line in enumerate(words):
            yield text(x + 2, y + 16 * row, line, "small" if line in prose else "code")


def table():
    for x, head in ((44, "killed"), (300, "is left in checkpoints/"), (552, "the next start")):
        yield text(x, TABLE - 14, head, "bold")
    for number, (_, when, left, then) in enumerate(KILLS):
        y = TABLE + number * ROW
        yield path(f"M12 {y - 4}H{WIDTH - 12}", "line") + mark(24, y + 12, number + 1) + text(44, y + 16, when)
        yield "".join(text(300, y + 12 + 16 * row, name, "code") for row, name in enumerate(left))
        yield text(552, y + 16, then)


def main():
    parts = [text(12, 24, "A checkpoint of step 100, written while training goes on", "title")]
    parts += legend(12, 48, [("F", "training"), ("wait", "training waits for a copy"), ("file", "files are written"), ("mark", "killed here")])
    parts += [*lanes(), *explained()]
    parts += [mark(x, TOP + PITCH * (1 if number == 0 else 2) - 6, number + 1) for number, (x, *_) in enumerate(KILLS)]
    parts += table()
    show("The life of a checkpoint", "docs/pictures/checkpoint.py", TABLE + len(KILLS) * ROW + 4, parts)


if __name__ == "__main__":
    main()
