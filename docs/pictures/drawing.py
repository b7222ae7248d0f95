"""What the pictures of the docs have in common: 780 wide, so that letters of 13 are legible on 700 pixels, and one colour for one thing."""

import json
import subprocess
import sys

WIDTH = 780
STYLE = """svg { background: #ffffff; color: #1d2730; font: 13px system-ui, sans-serif; }
text { fill: currentColor; }
.title { font-size: 16px; font-weight: 600; } .bold { font-weight: 600; } .soft { fill-opacity: 0.75; }
.right { text-anchor: end; } .middle { text-anchor: middle; } .code { font-family: ui-monospace, monospace; font-size: 12px; }
.small, .waits { font-size: 11px; } .waits { paint-order: stroke; stroke: #dbe1e7; stroke-width: 4px; }
.box { fill: #10202c; font-size: 11px; text-anchor: middle; }
.lane { fill: #eef1f4; } .line, .frame { fill: none; stroke: currentColor; } .line { stroke-opacity: 0.3; } .frame { stroke-opacity: 0.5; }
.F { fill: #8ab6f9; } .B, .I { fill: #7ed3b2; } .W { fill: #f5c469; } .F.paler { fill: #cfe1fd; } .B.paler { fill: #c8ece0; }
.update { fill: #c9ced6; } .wait { fill: #dbe1e7; }
.file { fill: #dccbae; } .mark { fill: #5b6770; } .marked { fill: #ffffff; }
.share0 { fill: #a48bdb; } .share1 { fill: #c8b8ec; } .share2 { fill: #e6defa; }
.arrow { fill: none; stroke-width: 1.6; }
.plain { stroke: currentColor; } .activation { stroke: #3576d6; } .gradient { stroke: #1f8f68; } .between { stroke: #c94f4f; }
.heads path { stroke: none; } .heads .plain { fill: currentColor; }
.heads .activation { fill: #3576d6; } .heads .gradient { fill: #1f8f68; } .heads .between { fill: #c94f4f; }
@media (prefers-color-scheme: dark) {
  svg { background: #14181d; color: #dfe6ec; }
  .lane { fill: #20262d; } .wait { fill: #39434d; } .waits { stroke: #39434d; }
}"""


def asked(*words):
    """What the program, the first word of the command line, prints."""
    return subprocess.run([sys.argv[1], *map(str, words)], check=True, capture_output=True, text=True).stdout


def asked_json(*words):
    return json.loads(asked(*words))


def escaped(words):
    return str(words).replace("&", "&amp;").replace("<", "&lt;")


def text(x, y, words, kind=""):
    return f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} x="{x:.6g}" y="{y:.6g}">{escaped(words)}</text>'


def rect(x, y, width, height, kind, rest=""):
    return f'<rect class="{kind}" x="{x:.6g}" y="{y:.6g}" width="{width:.6g}" height="{height:.6g}"{rest}/>'


def path(way, kind, rest=""):
    return f'<path class="{kind}" d="{way}"{rest}/>'


def arrow(way, kind):
    return path(way, f"arrow {kind}", f' marker-end="url(#{kind})"')


def heads(*kinds):
    """The heads of arrows of these kinds."""
    head = '<marker id="{0}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
    return '<defs class="heads">' + "".join(head.format(kind) + path("M0 0L8 4L0 8z", kind) + "</marker>" for kind in kinds) + "</defs>"


def legend(x, y, meanings):
    """A square and a word for each of (kind, word), from left to right."""
    for kind, words in meanings:
        yield rect(x, y - 11, 13, 13, kind) + text(x + 18, y, words)
        x += 44 + 6.7 * len(words)


def show(title, source, height, parts):
    """Prints the picture."""
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">')
    print(f"<title>{escaped(title)}</title>\n<desc>{escaped(source)}</desc>\n<style>\n{STYLE}\n</style>")
    print("\n".join([*parts, "</svg>"]))
