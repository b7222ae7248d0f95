#!/usr/bin/env python3
"""The deepest Transformer-L (GPipe, Table 1: width 2048, feed-forward 8192, sequence 1024, vocabulary 32k) that trains
on one GPU: asks `penstock plan` which L fits in the memory that is free, trains it for two steps, and holds the peak
that was measured against the one predicted.

usage: bench/gpu/largest.py [--penstock build/gpu/bin/penstock] [--out DIR] [--memory BYTES] [--device cuda|cpu]
                            [--modes none,stage,layer] [--precision bf16|fp32] [--reserve BYTES] [--toy]

  --memory BYTES   what counts as free [what nvidia-smi says]
  --reserve BYTES  of that, left alone: libraries' own workspaces, blocks of the pool that fit nothing [1.5 GiB]
  --toy            a narrow network, to try the script: penstock counts it as a GPU would, and may train it on a CPU

RMSProp without momentum (the paper's 12 bytes a parameter, here with 2 more of bf16 copy), four micro-batches of one
sample, gpipe: without recompute all four are kept.
Where the depth that was predicted to fit does not train, up to three layers less are tried, and that is reported.

Exit codes: 0 trained, every peak within 3 % of its prediction; 1 not; 77 there is no GPU.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_GPU = 77
MISSING = 3  # penstock's exit code for a resource that is missing: memory, if its words say so; else a device
ALLOWED = 0.03

RUN_FILE = """
[model]
kind = "transformer-lm"
width = {width}
hidden = {hidden}
heads = 16
context = {context}
vocabulary = {vocabulary}
final_norm = false
[data]
kind = "synthetic"
[optimizer]
kind = "rmsprop"
momentum = 0.0
learning_rate = 1e-5
[pipeline]
schedule = "gpipe"
micro_batches = 4
micro_batch_size = 1
[checkpoint]
last = false
[run]
steps = 2
trace = 0
threads = 1
"""
PAPER = {"width": 2048, "hidden": 8192, "context": 1024, "vocabulary": 32000}
TOY = {"width": 64, "hidden": 128, "context": 32, "vocabulary": 200}


def penstock(options, arguments, limit_s=240):
    environment = dict(os.environ)
    if "PENSTOCK_LD_LIBRARY_PATH" in environment:
        environment["LD_LIBRARY_PATH"] = environment["PENSTOCK_LD_LIBRARY_PATH"]
    environment.pop("OMP_NUM_THREADS", None)  # initial weights are made by all cores
    return subprocess.run([options.penstock, *arguments], env=environment, capture_output=True, text=True,
                          timeout=limit_s, check=False)


def free_bytes():
    """Of GPU 0, by nvidia-smi; None without one."""
    try:
        answer = subprocess.run(["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"],
                                capture_output=True, text=True, check=False)
    except OSError:
        return None
    first = answer.stdout.split("\n")[0].strip()
    return int(first) * 2**20 if answer.returncode == 0 and first.isdigit() else None


def predicted_peak(options, run_file, layers, mode):
    """Bytes that the plan says one rank needs."""
    done = penstock(options, ["plan", str(run_file), "--ranks", "1", "--json", "--device-model", "h100", "--device-memory",
                              "1000TiB", "--model.layers", str(layers), "--recompute", mode, "--stages", "1",
                              "--replicas", "1", "--micro-batches", "4", "--micro-batch-size", "1", "--schedule",
                              "gpipe", "--precision", options.precision])
    if done.returncode != 0:
        sys.exit(f"penstock plan: {done.stderr.strip()}")
    (candidate,) = json.loads(done.stdout)["candidates"]
    return max(candidate["peak_bytes"])


def deepest(fits):
    """The largest number for which fits() holds, by doubling and halving; 0 for none."""
    most, too_many = 0, 1
    while fits(too_many):
        most, too_many = too_many, 2 * too_many
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if fits(middle) else (most, middle)
    return most


def train(options, run_file, layers, mode):
    """The summary of two steps, or the text of what went wrong and whether memory was it."""
    out = pathlib.Path(options.out) / f"largest-{mode}"
    done = penstock(options, ["train", str(run_file), "--model.layers", str(layers), "--recompute", mode, "--device",
                              options.device, "--precision", options.precision, "--overwrite", "--out", str(out)])
    if done.returncode == 0:
        return json.loads((out / "summary.json").read_text()), None, False
    lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit code {done.returncode}"]
    return None, lines[0], done.returncode == MISSING and "out of memory" in lines[0]


def try_mode(options, run_file, mode, limit):
    """One line of the table, and whether it is as it should be."""
    started = time.monotonic()
    layers = deepest(lambda count: predicted_peak(options, run_file, count, mode) <= limit)
    if layers == 0:
        return f"{mode:8} not a single layer fits in {limit / 2**30:.1f} GiB", False
    trouble = []
    for fewer in range(min(4, layers)):
        summary, error, memory = train(options, run_file, layers - fewer, mode)
        if summary is not None:
            break
        trouble.append(f"\n         L = {layers - fewer}: {error}")
        if not memory:
            break
    if summary is None:
        return f"{mode:8} predicted L = {layers}, did not train" + "".join(trouble), False
    rank = summary["ranks_detail"][0]
    measured, predicted = rank["peak_bytes"]["total"], rank["predicted_peak_bytes"]
    error = measured / predicted - 1
    line = (f"{mode:8} {layers:11d} {layers - fewer:9d} {summary['parameters'] / 1e9:12.3f} {predicted / 2**30:14.2f} "
            f"{measured / 2**30:13.2f} {error:+10.2%} {rank['reserved_bytes'] / 2**30:13.2f} "
            f"{summary['step_ms']['median']:9.0f} {time.monotonic() - started:9.0f}")
    return line + "".join(trouble), abs(error) <= ALLOWED and fewer == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(ROOT / "build/gpu/bin/penstock"))
    parser.add_argument("--out", default=str(ROOT / "build/gpu-results"))
    parser.add_argument("--memory", type=float, default=0)
    parser.add_argument("--reserve", type=float, default=1.5 * 2**30)
    parser.add_argument("--modes", default="none,stage,layer")
    parser.add_argument("--precision", default="bf16", choices=["bf16", "fp32"])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args()
    memory = options.memory or free_bytes()
    if not memory:
        print("bench/gpu/largest.py: nothing measured: nvidia-smi names no GPU")
        return NO_GPU
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    run_file = out / "largest.toml"
    run_file.write_text(RUN_FILE.format(**(TOY if options.toy else PAPER)))
    print(f"Transformer-L, {options.precision}, in {memory / 2**30:.2f} GiB, {options.reserve / 2**30:.2f} of them left alone")
    print("recompute  predicted L  trains L  parameters/G  predicted/GiB  measured/GiB  difference  reserved/GiB   step/ms  seconds")
    good = True
    for mode in options.modes.split(","):
        line, as_it_should_be = try_mode(options, run_file, mode, memory - options.reserve)
        good = good and as_it_should_be
        print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
