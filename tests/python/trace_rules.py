"""What holds of every trace.json. Independent of the program's own readers.

usage: trace_rules.py TRACE_JSON
"""

import collections
import json
import sys

Slice = collections.namedtuple("Slice", "name start end event")
ROUNDING = 0.002  # microseconds: times are written as decimal fractions


def slices_by_track(events):
    """By process and thread, in the order of their start, longer ones first."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(
                Slice(event["name"], event["ts"], event["ts"] + event["dur"], event))
    for slices in tracks.values():
        slices.sort(key=lambda one: (one.start, -one.end))
    return tracks


def check_nesting(tracks):
    """Of two slices of a track one lies inside the other, or they have nothing in common."""
    for track, slices in tracks.items():
        around = []
        for one in slices:
            assert one.end > one.start, f"{one.name} on {track} takes no time: {one.event}"
            while around and around[-1].end <= one.start + ROUNDING:
                around.pop()
            assert not around or one.end <= around[-1].end + ROUNDING, \
                f"{one.name} and {around[-1].name} overlap on {track}"
            around.append(one)


def check_names(events, tracks):
    """Every track has a name that tells rank and stream, and what is on it belongs there."""
    names = {(event["pid"], event["tid"]): event["args"] for event in events if event["name"] == "thread_name"}
    kinds = {"compute": set("FRIWB"), "send": {"SA", "SG"}, "receive": {"RA", "RG"}, "reduce": {"RED"}, "update": {"OPT"}}
    for track, slices in tracks.items():
        stream = names[track]["stream"]
        assert names[track]["name"] == f"{names[track]['rank_name']} {stream}", names[track]
        strange = {one.name for one in slices if one.event["args"]["op"] not in kinds[stream]}
        assert not strange, f"{strange} on a track of {stream}"


def check_flows(events, tracks, clock_error):
    """Every arrow has its two ends, inside of slices, and none leads back in time; returns how many."""
    ends = collections.defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in ends[event["id"]], f"flow {event['id']} has two ends '{event['ph']}'"
            ends[event["id"]][event["ph"]] = event
    for number, end in ends.items():
        assert set(end) == set("sf"), f"flow {number} has one end"
        for event in end.values():
            assert any(one.start <= event["ts"] <= one.end for one in tracks[event["pid"], event["tid"]]), \
                f"an end of flow {number} is in no slice"
        assert end["s"]["ts"] <= end["f"]["ts"] + clock_error + ROUNDING, \
            f"flow {number} arrives {end['s']['ts'] - end['f']['ts']:.1f} us before it was sent; clocks agree to {clock_error} us"
    return len(ends)


def check(path):
    """Raises AssertionError; returns what the trace says of its clocks, and how many arrows it has of those measured."""
    trace = json.loads(path.read_text())
    events, about = trace["traceEvents"], trace["otherData"]
    tracks = slices_by_track(events)
    check_nesting(tracks)
    check_names(events, tracks)
    error = float(about["clock_error_us"])
    flows = check_flows(events, tracks, error)
    measured = [one for (pid, _), slices in tracks.items() if pid == 0 for one in slices]
    received = sum(one.name.startswith("R") and one.event["args"]["op"] in ("RA", "RG") for one in measured)
    arrows = sum(event["ph"] == "f" and event["pid"] == 0 for event in events)
    assert arrows == received, f"{received} messages were received, {arrows} arrows lead to them"
    return {"clocks": int(about["clocks"]), "error_us": error, "flows": flows, "received": received}


if __name__ == "__main__":
    import pathlib
    print(check(pathlib.Path(sys.argv[1])))
