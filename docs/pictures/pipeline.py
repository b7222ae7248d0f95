#!/usr/bin/env python3
"""docs/pictures/pipeline.svg: pipeline.py PROGRAM > pipeline.svg

One step of 1F1B with 3 stages, 2 replicas and 4 micro-batches. `penstock schedule --format svg` draws a pipeline; replicas do the
same, so its lanes stand here twice, with what joins the replicas, the sum of the gradients, and the update behind them. The test of
the pages makes the picture again and compares.
"""

import re
import subprocess
import sys

COMMAND = "schedule --schedule 1f1b --stages 3 --micro-batches 4 --format svg"
LANE = re.compile(r'<text class="name" x="68" y="(\d+)">rank (\d)</text>\n<g class="box">\n(.*?)</g>\n', re.S)
BELOW = 122  # from a lane of replica 0 to that of replica 1
STYLE = ".sum { fill: #f3a6a6; } .update { fill: #c9ced6; } .replica { font-weight: 600; }\n@media"


def moved(lane, by):
    return re.sub(r'\by="(\d+)"', lambda y: f'y="{int(y[1]) + by}"', lane)


def end_of_step(y):
    """What follows the last backward of a lane: the sum over replicas and the update."""
    return "".join(
        f'<rect class="{name}" x="{x}" y="{y}" width="30" height="26"/>\n<text x="{x + 15}" y="{y + 17}">{letter}</text>\n'
        for name, x, letter in (("sum", 1192, "+"), ("update", 1224, "U"))
    )


def main():
    drawn = subprocess.run([sys.argv[1], *COMMAND.split()], check=True, capture_output=True, text=True).stdout
    head = drawn[: LANE.search(drawn).start()]
    head = head.replace('viewBox="0 0 1200 186"', 'viewBox="0 0 1268 326"').replace("@media", STYLE, 1)
    head = head.replace('width="1200" height="186"', 'width="1268" height="326"')
    head = head.replace("1f1b: ranks 3, stages 3, micro-batches 4", "1f1b: 3 stages x 2 replicas on 6 ranks, 4 micro-batches")
    print(head.replace("</title>", f"</title>\n<desc>docs/pictures/pipeline.py, from: penstock {COMMAND}</desc>", 1), end="")
    for x, name, meaning in ((256, "sum", "sum of gradients over the replicas"), (500, "update", "update")):
        print(f'<rect class="{name}" x="{x}" y="59" width="14" height="14"/><text x="{x + 19}" y="70">{meaning}</text>')
    for replica in range(2):
        print(f'<text class="replica" x="76" y="{96 + replica * BELOW}">replica {replica}</text>')
        for y, stage, boxes in LANE.findall(drawn):
            by = 18 + replica * BELOW
            print(f'<text class="name" x="68" y="{int(y) + by}">stage {stage}</text>\n<g class="box">')
            print(moved(boxes, by) + end_of_step(int(y) - 17 + by) + "</g>")
    print("</svg>")


if __name__ == "__main__":
    main()
