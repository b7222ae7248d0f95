#!/usr/bin/env python3
"""docs/pictures/shares.svg: shares.py PROGRAM > shares.svg

Which replica updates what of a stage. Names and sizes are those of `penstock inspect`; buckets and cuts are made here as the program
makes them (runtime/network/stage/gradient_buckets.cpp, runtime/network/stage/shares.cpp); the test of the pages holds cuts against those
of shares_test.cpp.
"""

from math import prod
from pathlib import Path

from drawing import arrow, asked_json, heads, legend, path, rect, show, text

RUN_FILE = Path(__file__).resolve().parents[2] / "launch/examples/mlp.toml"
HIDDEN = "--model.hidden_layers=[1024,1024,1024]"
REPLICAS, GRANULE, BUCKET_BYTES, LINE = 3, 4096, 4 << 20, 16  # LINE: floats of a cache line, where each parameter begins
LEFT, WIDE, TOP, PITCH, HIGH = 12, 560, 118, 58, 24
GRANULES, ZOOM, GRANULE_WIDE = range(82, 90), 318, 70


def padded(sizes):
    return sum(-(-size // LINE) * LINE for size in sizes)


def layers_of(network):
    """Names and the elements of the parameters, weight before bias."""
    shapes = {tensor["name"]: tensor["shape"] for tensor in network["tensors"]}
    for layer in (one["name"] for one in network["layers"]):
        names = [f"{layer}.{part}" for part in ("weight", "bias")]
        yield layer, [prod(shapes[name]) for name in names if name in shapes]


def buckets_of(layers):
    """The names of the layers of each bucket and its parameters' elements, in the order in which buckets become complete."""
    names, sizes = [], []
    for number, (name, parameters) in reversed([*enumerate(layers)]):
        names, sizes = [name, *names] if parameters else names, parameters + sizes
        if sizes and (number == 0 or 4 * padded(sizes) >= BUCKET_BYTES):
            yield names, sizes
            names, sizes = [], []


class Cutter:
    def __init__(self, replicas):
        self.replicas, self.all, self.before = replicas, 0, [0] * replicas

    def cut(self, sizes):
        """Of parameters that lie side by side: the cuts as elements of the stage's vector, padding counted, and as elements of parameters."""
        places, before, at = [], 0, 0
        for size in sizes:
            places += [(at + first, before + first) for first in range(0, size, GRANULE)]
            before, at = before + size, at + -(-size // LINE) * LINE
        places.append((at, before))
        cuts = [(0, 0)]
        for replica in range(1, self.replicas):
            wanted = (self.all + before) * replica // self.replicas - self.before[replica]
            # Of two that are as near, the lower one.
            chosen = max(cuts[-1], min(places, key=lambda place: (abs(place[1] - wanted), place[1])))
            self.before[replica] += chosen[1]
            cuts.append(chosen)
        self.all += before
        return [*cuts, places[-1]]


def bucket_row(y, label, cuts, scale):
    yield text(LEFT, y - 7, label)
    for replica, ((at, _), (end, _)) in enumerate(zip(cuts, cuts[1:])):
        yield rect(LEFT + at * scale, y, (end - at) * scale - 1, HIGH, f"share{replica}")
        granules = -(-(end - at) // GRANULE)
        yield text(LEFT + (at + end) / 2 * scale, y + 17, f"{granules} granules", "box")


def beyond(y, cutter, shares):
    """What each replica has too much so far."""
    for replica, share in enumerate(shares):
        yield text(650 + 56 * replica, y + 17, f"{share - cutter.all / cutter.replicas:+,.0f}".replace("-", "\u2212"), "right")


def around_cut(y, cut, third):
    """The granules beside the first cut of the first bucket."""

    def across(element):
        return LEFT + (element / GRANULE - GRANULES[0]) * GRANULE_WIDE

    for granule in GRANULES:
        yield rect(across(granule * GRANULE), y, GRANULE_WIDE - 1, HIGH, f"share{int(granule * GRANULE >= cut)}")
        yield text(across((granule + 0.5) * GRANULE), y + 17, granule, "box")
    yield arrow(f"M{across(third):.6g} {y + 46}V{y + HIGH + 3}", "plain")
    yield text(across(third) + 8, y + 50, f"a third of the bucket: element {third:,.0f}")
    yield path(f"M{across(cut) - 0.5:.6g} {y - 6}v{HIGH + 34}", "frame")
    yield text(across(cut) - 8, y + 50, f"the cut: {cut // GRANULE} x {GRANULE} = {cut:,}", "right")


def main():
    network = asked_json("inspect", RUN_FILE, HIDDEN, "--json")
    buckets = [*buckets_of([*layers_of(network)])]
    scale = WIDE / max(padded(sizes) for _, sizes in buckets)
    parts = [heads("plain"), text(LEFT, 24, f"Buckets and shares: {REPLICAS} replicas of a stage of {network['parameters']:,} parameters", "title")]
    parts += legend(LEFT, 48, [(f"share{replica}", f"updated by replica {replica}") for replica in range(REPLICAS)])
    parts.append(text(762, 78, "elements beyond a third so far", "right"))
    parts += [text(650 + 56 * replica, 98, f"of {replica}", "right soft") for replica in range(REPLICAS)]
    cutter, shares, first = Cutter(REPLICAS), [0] * REPLICAS, None
    for number, (names, sizes) in enumerate(buckets):
        cuts = cutter.cut(sizes)
        first = first or (cuts[1][0], sum(sizes) / REPLICAS)
        shares = [share + end[1] - begin[1] for share, begin, end in zip(shares, cuts, cuts[1:])]
        y = TOP + number * PITCH
        parts += [*bucket_row(y, f"bucket {number}: {', '.join(names)}", cuts, scale), *beyond(y, cutter, shares)]
    parts.append(text(LEFT, ZOOM - 14, "The first cut of bucket 0: where the nearest granule begins"))
    parts += around_cut(ZOOM, *first)
    show("Buckets and shares", f"docs/pictures/shares.py, from: penstock inspect launch/examples/mlp.toml {HIDDEN} --json", ZOOM + 66, parts)


if __name__ == "__main__":
    main()
