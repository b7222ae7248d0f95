#!/usr/bin/env python3
"""docs/pictures/sweep.svg: sweep.py PROGRAM > sweep.svg

The two plots that `penstock sweep` draws, side by side: of sweep.toml, whose jobs have not run, so that all in them is planned.
"""

import re
import tempfile
from pathlib import Path

from drawing import asked

FILE = Path(__file__).with_name("sweep.toml")
PLOT = re.compile(r"<svg [^>]*>\n(<title>.*?</title>)\n(<style>.*?</style>)\n(.*)</svg>", re.S)


def main():
    with tempfile.TemporaryDirectory() as folder:
        asked("sweep", FILE, "--out", folder)
        plots = [PLOT.match((Path(folder) / f"{name}.svg").read_text(encoding="utf-8")) for name in ("throughput", "efficiency")]
    print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 400" role="img">')
    print("<title>Plots of a sweep</title>\n<desc>docs/pictures/sweep.py, of the sweep docs/pictures/sweep.toml</desc>")
    print(plots[0][2])
    for number, plot in enumerate(plots):
        print(f'<g transform="translate({480 * number} 0)">\n{plot[1]}\n{plot[3]}</g>')
    print("</svg>")


if __name__ == "__main__":
    main()
