#!/usr/bin/env python3
"""docs/pictures/results.svg: results.py SWEEP > results.svg

SWEEP is the sweep directory of results.toml. On the left the losses of all its runs, one over the other; on the right, of each run,
what its fullest rank held at its peak beside what was predicted.
"""

import json
import pathlib
import sys

STYLE = """svg { background: #ffffff; color: #1d2730; font: 12px system-ui, sans-serif; }
text { fill: currentColor; }
.title { font-size: 15px; font-weight: 600; }
.right { text-anchor: end; } .middle { text-anchor: middle; }
.axis { stroke: currentColor; stroke-opacity: 0.25; }
.loss { fill: none; stroke-linejoin: round; }
.K1 { stroke: #8ab6f9; stroke-width: 7; } .K2 { stroke: #f5c469; stroke-width: 4; } .K4 { stroke: #b23a48; stroke-width: 1.2; }
.measured { fill: #7ed3b2; } .predicted { fill: none; stroke: currentColor; stroke-width: 1.2; }
@media (prefers-color-scheme: dark) { svg { background: #14181d; color: #dfe6ec; } .K4 { stroke: #ff8f9c; } }"""
TOP, BOTTOM = 66, 316  # of both panels
MIB = 2**20


def text(x, y, words, kind=""):
    return f'<text x="{x:g}" y="{y:g}"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{words}</text>'


def height(share):
    return BOTTOM - share * (BOTTOM - TOP)


def read(sweep):
    """By stages and schedule: the losses of the steps, and the summary."""
    runs = {}
    for folder in (pathlib.Path(sweep) / "points").iterdir():
        summary = json.loads((folder / "summary.json").read_text())
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        losses = [line["loss"] for line in lines if "eval" not in line]
        runs[summary["stages"], summary["schedule"]] = losses, summary
    return runs


def draw_losses(runs):
    losses = {stages: losses for (stages, schedule), (losses, _) in runs.items() if schedule == "1f1b"}
    steps, least, most = len(losses[1]), 1.5, 6.0
    difference = max(abs(a - b) for one, _ in runs.values() for a, b in zip(one, losses[1]))
    yield text(48, 26, f"Loss of {len(runs)} runs: K = 1, 2, 4 x gpipe, 1f1b, zb-h1", "title")
    yield text(48, 46, f"largest difference in any of {steps} steps: {difference:g}")
    for loss in range(2, 7):
        y = height((loss - least) / (most - least))
        yield f'<path class="axis" d="M48 {y:.1f}H548"/>' + text(40, y + 4, loss, "right")
    for step in range(0, steps + 1, 100):
        yield text(48 + 500 * step / steps, BOTTOM + 18, f"step {step}" if step else 0, "middle")
    for stages in sorted(losses):
        points = [f"{48 + 500 * (i + 1) / steps:.1f} {height((loss - least) / (most - least)):.1f}" for i, loss in enumerate(losses[stages])]
        yield f'<path class="loss K{stages}" d="M{"L".join(points)}"/>'
    for i, stages in enumerate(sorted(losses)):
        yield f'<path class="loss K{stages}" d="M400 {90 + 20 * i}h30"/>' + text(440, 94 + 20 * i, f"K = {stages}, 1f1b")


def draw_memory(runs):
    peaks = {}
    for key, (_, summary) in runs.items():
        ranks = summary["ranks_detail"]
        peaks[key] = max(r["peak_bytes"]["total"] for r in ranks) / MIB, max(r["predicted_peak_bytes"] for r in ranks) / MIB
    worst = max(abs(measured / predicted - 1) for measured, predicted in peaks.values())
    yield text(620, 26, "Memory of the fullest rank, MiB", "title")
    yield '<rect class="measured" x="620" y="36" width="14" height="12"/>' + text(640, 46, "measured")
    yield '<rect class="predicted" x="706" y="36.5" width="14" height="11"/>' + text(726, 46, f"predicted; at most {worst:.1%} apart")
    for number, (stages, schedule) in enumerate(sorted(peaks)):
        x = 620 + 62 * number
        measured, predicted = (height(peak / 62) for peak in peaks[stages, schedule])
        yield f'<rect class="measured" x="{x}" y="{measured:.1f}" width="46" height="{BOTTOM - measured:.1f}"/>'
        yield f'<rect class="predicted" x="{x + 4}" y="{predicted:.1f}" width="38" height="{BOTTOM - predicted:.1f}"/>'
        yield text(x + 23, measured - 6, f"{peaks[stages, schedule][0]:.1f}", "middle")
        yield text(x + 23, BOTTOM + 18, schedule, "middle")
        if number % 3 == 1:
            yield text(x + 23, BOTTOM + 36, f"K = {stages}", "middle")


def main():
    runs = read(sys.argv[1])
    print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1190 364" role="img">')
    print("<title>Losses over the number of stages, and memory measured and predicted</title>")
    print("<desc>docs/pictures/results.py, of the sweep docs/pictures/results.toml</desc>")
    print(f"<style>\n{STYLE}\n</style>")
    print("\n".join([*draw_losses(runs), *draw_memory(runs), "</svg>"]))


if __name__ == "__main__":
    main()
