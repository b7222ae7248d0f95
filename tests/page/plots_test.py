#!/usr/bin/env python3
"""Pictures look the same wherever they are shown: librsvg, by which they come into papers, and a browser.

usage: plots_test.py PICTURE.svg...

The pixels that have a colour, neither white nor grey, are as many in both, but for edges and letters.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

WIDTH = 480  # pixels
MOST = 0.15  # of the coloured pixels that may differ: edges are smoothed in other ways


def rows_of(png):
    """The rows of a PNG of 8 bits a channel, without interlacing, as bytes, and the channels of a pixel."""
    data, at, head = b"", 8, None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        chunk = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", chunk)
        if kind == b"IDAT":
            data += chunk
        at += size + 12
    width, height, depth, colour, _, _, interlaced = head
    assert depth == 8 and colour in (2, 6) and not interlaced, head
    step = 3 if colour == 2 else 4
    data, before, rows = zlib.decompress(data), bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        filtered, row = data[start], bytearray(data[start + 1 : start + 1 + width * step])
        for i, value in enumerate(row):
            left = row[i - step] if i >= step else 0
            up, corner = before[i], before[i - step] if i >= step else 0
            if filtered == 4:  # Paeth's predictor
                guess = left + up - corner
                near = min((abs(guess - left), 0), (abs(guess - up), 1), (abs(guess - corner), 2))[1]
                row[i] = (value + (left, up, corner)[near]) & 255
            else:
                row[i] = (value + (0, left, up, (left + up) // 2)[filtered]) & 255
        rows.append(row)
        before = row
    return rows, step


def coloured(png):
    rows, step = rows_of(png.read_bytes())
    return sum(max(row[i : i + 3]) - min(row[i : i + 3]) > 60 for row in rows for i in range(0, len(row), step))


def main():
    browser = os.environ.get("PENSTOCK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    for name, found in (("chromium", browser), ("rsvg-convert", shutil.which("rsvg-convert"))):
        if not found:
            print(f"skipped: there is no {name}; launch/setup.sh --page installs it")
            sys.exit(77)
    wrong = 0
    for picture in map(pathlib.Path, sys.argv[1:]):
        box = picture.read_text(encoding="utf-8").split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
        height = round(WIDTH * float(box[1]) / float(box[0]))
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = pathlib.Path(folder) / "rsvg.png", pathlib.Path(folder) / "browser.png"
            page = pathlib.Path(folder) / "page.html"  # a browser alone gives a picture its whole window
            page.write_text(f'<body style="margin:0"><img src="{picture.resolve().as_uri()}" width="{WIDTH}">', encoding="utf-8")
            subprocess.run(["rsvg-convert", "-w", str(WIDTH), "-o", ours, picture], check=True)
            subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                 "--allow-file-access-from-files", f"--window-size={WIDTH},{height + 200}", f"--screenshot={theirs}", page.as_uri()],
                check=True, capture_output=True, timeout=120)
            counts = coloured(ours), coloured(theirs)
        print(f"{picture.name}: {counts[0]} coloured pixels by rsvg-convert, {counts[1]} in the browser")
        wrong += min(counts) < (1 - MOST) * max(counts) or min(counts) == 0
    sys.exit(1 if wrong else 0)


main()
