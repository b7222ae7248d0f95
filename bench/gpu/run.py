#!/usr/bin/env python3
"""Penstock beside PyTorch on one GPU: the same work by both in turn, in pairs, and one table of ratios.

usage: bench/gpu/run.py [--ours build/gpu/bin/gpu_bench] [--out DIR] [--budget SECONDS] [--pairs N] [--rows REGEX]
                        [--modes MODE,...] [--device cuda|cpu] [--toys] [--list]

  --out DIR       for bench.json: every time of every iteration, written after each row [build/gpu-results]
  --budget S      seconds after which no further row is started; those left out are named [300]
  --pairs N       turns of each side in a row [5]
  --modes M,...   of PyTorch: eager, default (torch.compile), max-autotune-no-cudagraphs, reduce-overhead
                  [default,eager: all rows in the first mode come before any in the next]
  --toys          toy sizes, and PyTorch on the CPU: tries the script, measures nothing
  --device cpu    the same with our side on the CPU too

A ratio is PyTorch's time over ours within one pair of neighbouring turns: above 1 we are faster. Shown are the
median over the pairs and the smallest and largest. GiB are the peaks of tensors. "of matmul" is the share of the
fastest 8192^3 product that either side reached in this run; model FLOPs as in bench/gpu/workload.h.
PENSTOCK_LD_LIBRARY_PATH, where set, is the library path of our side alone (launch/bundle.sh).

Exit codes: 0 measured; 1 a row failed; 77 there is no GPU.
"""
import argparse
import json
import os
import pathlib
import random
import re
import select
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEER = pathlib.Path(__file__).resolve().parent / "torch_peer.py"
MATMUL = "matmul 8192"
TURN_MS = 250.0  # a turn measures about so long
NO_GPU = 77


def blocks(width, head_size, batch, sequence=1024, **more):
    name = f"blocks w={width} d={head_size} T={sequence} b={batch}"
    heads = width // head_size
    if "dropout" in more:
        name += f" dropout {more['dropout']}"
    if more.pop("packed", False):
        name += " packed"
        more["packed"] = packed(batch, sequence)
    if "kv_heads" in more:
        name += f" heads {heads}/{more['kv_heads']}"
    return name, {"what": "blocks", "blocks": 4, "width": width, "heads": heads, "batch": batch, "sequence": sequence, **more}


def packed(batch, sequence):
    """By row, the lengths of the samples that fill it: a quarter of it in the mean, drawn the same in every run."""
    dice = random.Random(4)
    rows = []
    for _ in range(batch):
        row = []
        while sum(row) < sequence:
            row.append(min(dice.randint(sequence // 16, 7 * sequence // 16), sequence - sum(row)))
        rows.append(row)
    return rows


def gpt2(size, layers, width, heads, batch, **more):
    name = f"GPT-2 {size} b={batch}"
    if "micro_batches" in more:
        name += f" x {more['micro_batches']}"
    if more.get("parameters") == "bf16":
        name += " (PyTorch's parameters bf16)"
    if more.get("compile") == "blocks":
        name += " (PyTorch by block)"
    return name, {"what": "lm", "layers": layers, "width": width, "heads": heads, "context": 1024, "vocabulary": 50257,
                  "batch": batch, **more}


def small(micro_batches):
    """What a step costs where the kernels are short: launches, and what lies between them."""
    return f"small GPT 3M b=8 x {micro_batches}", {
        "what": "lm", "layers": 4, "width": 256, "heads": 4, "context": 128, "vocabulary": 256, "batch": 8,
        "micro_batches": micro_batches}


def resnet(depth, batch):
    return f"ResNet-{depth} b={batch}", {"what": "resnet", "depth": depth, "batch": batch, "size": 224}


def amoebanet(layers, filters, batch, how):
    by = {"never": "eager", "blocks": "by cell"}[how]
    return f"AmoebaNet-D ({layers}, {filters}) b={batch} (PyTorch {by})", {
        "what": "amoebanet", "layers": layers, "filters": filters, "batch": batch, "size": 224, "compile": how}


# Those that matter most first: the budget may end before the list.
ROWS = [
    (MATMUL, {"what": "matmul", "size": 8192}),
    blocks(4096, 128, 4, 2048), gpt2("124M", 12, 768, 12, 16), resnet(50, 128),
    gpt2("774M", 36, 1280, 20, 8, compile="blocks"),
    blocks(4096, 128, 4, 2048, dropout=0.1), blocks(4096, 128, 4, 2048, packed=True), blocks(4096, 128, 4, 2048, kv_heads=8),
    amoebanet(18, 208, 64, "never"),
    gpt2("124M", 12, 768, 12, 16, parameters="bf16"), gpt2("124M", 12, 768, 12, 8, micro_batches=4),
    blocks(4096, 128, 4, 2048, dropout=0.1, packed=True), resnet(50, 64),
    blocks(2048, 128, 4), blocks(4096, 128, 4), blocks(2048, 128, 8), blocks(4096, 128, 8), blocks(2048, 64, 4),
    blocks(4096, 64, 4), blocks(2048, 128, 1), blocks(4096, 128, 1),
    small(1), small(8), amoebanet(18, 208, 64, "blocks"),
]
TOY_BLOCKS = {"what": "blocks", "blocks": 2, "width": 64, "heads": 4, "batch": 2, "sequence": 64}
TOY_LM = {"what": "lm", "layers": 2, "width": 64, "heads": 2, "context": 32, "vocabulary": 101, "batch": 2}
TOYS = [
    (MATMUL, {"what": "matmul", "size": 256}),
    ("blocks", TOY_BLOCKS),
    ("GPT-2", TOY_LM),
    ("ResNet-18", {"what": "resnet", "depth": 18, "batch": 2, "size": 32}),
    ("GPT-2 (PyTorch by block)", {**TOY_LM, "compile": "blocks"}),
    ("blocks dropout", {**TOY_BLOCKS, "dropout": 0.1}),
    ("blocks packed", {**TOY_BLOCKS, "packed": packed(2, 64)}),
    ("blocks heads 4/2", {**TOY_BLOCKS, "kv_heads": 2}),
    ("AmoebaNet-D (3, 16)", {"what": "amoebanet", "layers": 3, "filters": 16, "batch": 2, "size": 32, "compile": "never"}),
    ("GPT-2 (PyTorch's parameters bf16)", {**TOY_LM, "parameters": "bf16"}),
    ("GPT-2 x 2", {**TOY_LM, "micro_batches": 2}),
    ("blocks dropout packed", {**TOY_BLOCKS, "dropout": 0.1, "packed": packed(2, 64)}),
]


class Side:
    """A process that measures when asked."""

    def __init__(self, name, command, environment, log):
        self.name = name
        self.log = log
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(log, "w"), env=environment, cwd=ROOT)
        self.about = self.ask({"what": "about"}, 120)

    def ask(self, request, limit_s):
        """The answer, or {"error": ...}; a side that does not answer in time is ended."""
        if self.process.poll() is not None:
            return {"error": self.last_words()}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": self.last_words()}
        if not select.select([self.process.stdout], [], [], limit_s)[0]:
            self.process.kill()
            return {"error": f"no answer in {limit_s:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": self.last_words()}

    def last_words(self):
        self.process.wait()
        lines = pathlib.Path(self.log).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"ended with code {self.process.returncode}"

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()


def start_sides(options):
    ours = dict(os.environ)
    if "PENSTOCK_LD_LIBRARY_PATH" in ours:
        ours["LD_LIBRARY_PATH"] = ours["PENSTOCK_LD_LIBRARY_PATH"]
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    return (Side("Penstock", [options.ours, "--device", options.device], ours, out / "bench-ours.log"),
            Side("PyTorch", [sys.executable, str(PEER), "--device", "cpu" if options.toys else "cuda"], dict(os.environ),
                 out / "bench-torch.log"))


def turns(side, request, toys):
    """How many iterations make a turn; sets the side up on the way. Returns (iterations, error)."""
    answer = side.ask({**request, "iterations": 1 if toys else 3}, 180)
    if "error" in answer:
        return 0, answer["error"]
    return 1 if toys else max(5, min(200, round(TURN_MS / statistics.median(answer["ms"])))), None


def measure(row, mode, sides, pairs, toys):
    """The record of one row: medians, ratios of pairs, and all single times."""
    name, request = row
    record = {"row": name, "mode": mode, "request": request}
    asked, iterations, record["set_up_s"] = {}, {}, {}
    for side in sides:
        started = time.monotonic()
        asked[side.name] = {**request, "mode": mode} if side.name == "PyTorch" else request
        iterations[side.name], error = turns(side, asked[side.name], toys)
        record["set_up_s"][side.name] = round(time.monotonic() - started, 1)
        if error:
            record[side.name] = {"error": error}
    times = {side.name: [] for side in sides if side.name not in record}
    for _ in range(pairs):
        for side in sides:
            if side.name not in times:
                continue
            answer = side.ask({**asked[side.name], "iterations": iterations[side.name]}, 120)
            if "error" in answer:
                record[side.name] = {"error": answer["error"]}
                del times[side.name]
                continue
            times[side.name].append(answer["ms"])
            if "flops" in answer:
                record["flops"] = answer["flops"]
            record[side.name] = {name: answer[name] for name in ("peak_bytes", "parameters", "note") if name in answer}
    medians = {side: [statistics.median(turn) for turn in all_turns] for side, all_turns in times.items()}
    for side, turn_medians in medians.items():
        record[side].update(ms=statistics.median(turn_medians), turns=times[side])
    if len(medians) == 2 and record["Penstock"]["parameters"] != record["PyTorch"]["parameters"]:
        record["Penstock"]["error"] = "another network: parameters {} and PyTorch's {}".format(
            record["Penstock"]["parameters"], record["PyTorch"]["parameters"])
    elif len(medians) == 2:
        record["ratios"] = [theirs / ours for ours, theirs in zip(medians["Penstock"], medians["PyTorch"])]
    return record


def matmul_rate(records):
    best = 0.0
    for record in records:
        if record["row"] == MATMUL:
            for side in ("Penstock", "PyTorch"):
                if "ms" in record.get(side, {}):
                    best = max(best, record["flops"] / (1e-3 * record[side]["ms"]))
    return best


def time_text(record, side):
    side = record.get(side, {})
    return f"{side['ms']:.3f}" if "ms" in side else "failed"


def peak_text(record, side):
    peak = record.get(side, {}).get("peak_bytes", 0)
    return f"{peak / 2**30:.2f}" if peak else "-"


def mfu_text(record, about):
    """The share of the peak that our side reached, for the line that is printed at once."""
    ours = record.get("Penstock", {})
    return f" ({record['flops'] / (1e-3 * ours['ms']) / about['bf16_flops']:.1%} of peak)" if "ms" in ours else ""


def cells(record, rate, peak):
    ours = record.get("Penstock", {})
    speed = record["flops"] / (1e-3 * ours["ms"]) if "ms" in ours else 0.0
    request = record["request"]
    ratio = "-"
    if "ratios" in record:
        ratios = record["ratios"]
        ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})"
    images = f"{1e3 * request['batch'] / ours['ms']:.0f}" if request["what"] in ("resnet", "amoebanet") and "ms" in ours else "-"
    return [record["row"], "torch.compile" if record["mode"] == "default" else record["mode"],
            time_text(record, "Penstock"), time_text(record, "PyTorch"), ratio, peak_text(record, "Penstock"),
            peak_text(record, "PyTorch"), images,
            f"{speed / 1e12:.1f}" if speed else "-", f"{speed / rate:.1%}" if speed and rate else "-",
            f"{speed / peak:.1%}" if speed and peak else "-"]


HEADING = ["row", "PyTorch by", "ours ms", "PyTorch ms", "PyTorch / ours (of pairs)", "ours GiB", "PyTorch GiB", "images/s", "TFLOP/s",
           "of matmul", "of peak"]


def plain(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def failures(records):
    return [f"{record['row']} ({record['mode']}), {side}: {record[side]['error']}"
            for record in records for side in ("Penstock", "PyTorch") if "error" in record.get(side, {})]


def keep(options, sides, records, left_out):
    """All that was measured so far, in a file that is whole whenever we are stopped."""
    path = pathlib.Path(options.out, "bench.json")
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"ours": sides[0].about, "peer": sides[1].about, "records": records, "left_out": left_out}, indent=1))
    new.replace(path)


def report(options, sides, records, left_out, started):
    about, peer = sides[0].about, sides[1].about
    rate = matmul_rate(records)
    rows = [HEADING] + [cells(record, rate, about["bf16_flops"]) for record in records]
    version = f"PyTorch {peer['torch']}, cuDNN {peer['cudnn']}" if "torch" in peer else f"no PyTorch: {peer['error']}"
    notes = [f"largest product: {rate / 1e12:.0f} TFLOP/s; peak of bf16 products {about['bf16_flops'] / 1e12:.0f}; "
             f"{version}; {options.pairs} pairs a row; {time.monotonic() - started:.0f} s"]
    notes += [f"{record['row']} ({record['mode']}): {record['PyTorch']['note']}" for record in records
              if record.get("PyTorch", {}).get("note")]
    notes += [f"failed: {line}" for line in failures(records)]
    notes += [f"left out for want of time: {', '.join(left_out)}"] if left_out else []
    print(f"\n{about['device']}\n{plain(rows)}\n" + "\n".join(notes), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default=str(ROOT / "build/gpu/bin/gpu_bench"))
    parser.add_argument("--out", default=str(ROOT / "build/gpu-results"))
    parser.add_argument("--budget", type=float, default=300)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rows", default="")
    parser.add_argument("--modes", default="default,eager")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--toys", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.toys = options.toys or options.device == "cpu"
    return options


def main():
    options = parse()
    started = time.monotonic()
    modes = options.modes.split(",")
    rows = [row for row in (TOYS if options.toys else ROWS) if re.search(options.rows, row[0]) or
            row[0] == MATMUL]
    # A product is one call either way: once is enough.
    todo = [(row, mode) for mode in modes for row in rows if row[0] != MATMUL or mode == modes[0]]
    if options.list:
        print("\n".join(f"{row[0]}  {mode}" for row, mode in todo))
        return 0
    sides = start_sides(options)
    if "error" in sides[0].about:
        sides[1].end()
        print(f"bench/gpu/run.py: nothing measured: {sides[0].about['error']}")
        return NO_GPU
    records, left_out = [], []
    try:
        for row, mode in todo:
            if time.monotonic() - started > options.budget:
                left_out.append(f"{row[0]} ({mode})")
                continue
            records.append(measure(row, mode, sides, options.pairs, options.toys))
            keep(options, sides, records, left_out)
            share = mfu_text(records[-1], sides[0].about)
            print(f"{time.monotonic() - started:5.0f} s  {row[0]}, {mode}: {time_text(records[-1], 'Penstock')} ms{share}, "
                  f"PyTorch {time_text(records[-1], 'PyTorch')} ms", flush=True)
    finally:
        for side in sides:
            side.end()
        report(options, sides, records, left_out, started)
    return 1 if any("error" in record["Penstock"] for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
