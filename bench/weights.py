#!/usr/bin/env python3
"""How long every rank takes to read the weights it begins with, beside `dd` of the same files, in turn, with nothing cached: a table.

usage: bench/weights.py [--bench PATH] [--rounds 7] [--folder DIR] [--ranks 1,2] [--checkpoint DIR --run FILE]

--folder       a Hugging Face folder; without it one of Qwen 2.5 0.5B's sizes is made in the directory at hand (942 MiB of random bf16)
--checkpoint   also reads a checkpoint of a run, of which --run is the run file (config.toml in its directory)

`dd` reads with its direct mode off, 4 MiB at a time. Before each turn the system is told to forget the files (posix_fadvise), which it does
where nothing else uses them. What of a run is not timed: its start, and memory for the weights, which is there and written to.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import time

from mpirun import output_of

BLOCK = 1 << 20
QWEN = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
        "max_position_embeddings": 32768, "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": True, "use_sliding_window": False, "vocab_size": 151936}


def shapes():
    wide, hidden, keys = QWEN["hidden_size"], QWEN["intermediate_size"], 128
    all_of = {"model.embed_tokens.weight": [QWEN["vocab_size"], wide], "model.norm.weight": [wide]}
    block = {"input_layernorm.weight": [wide], "post_attention_layernorm.weight": [wide],
             "self_attn.q_proj.weight": [wide, wide], "self_attn.q_proj.bias": [wide],
             "self_attn.k_proj.weight": [keys, wide], "self_attn.k_proj.bias": [keys],
             "self_attn.v_proj.weight": [keys, wide], "self_attn.v_proj.bias": [keys],
             "self_attn.o_proj.weight": [wide, wide],
             "mlp.gate_proj.weight": [hidden, wide], "mlp.up_proj.weight": [hidden, wide], "mlp.down_proj.weight": [wide, hidden]}
    for layer in range(QWEN["num_hidden_layers"]):
        all_of.update({f"model.layers.{layer}.{name}": shape for name, shape in block.items()})
    return all_of


def make_folder(folder):
    """Numbers between -1 and 1; the names in the order in which safetensors sorts them."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN))
    header, end = {}, 0
    for name, shape in sorted(shapes().items()):
        begin, size = end, 2
        for extent in shape:
            size *= extent
        end = begin + size
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    numbers = random.Random(1)
    block = bytearray(numbers.randbytes(BLOCK))
    block[1::2] = bytes(0x3E | byte & 0x80 for byte in block[1::2])  # the exponent, and a sign
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for left in range(end, 0, -BLOCK):
            file.write(block[:min(left, BLOCK)])
        os.fsync(file.fileno())


def forget(files):
    for path in files:
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def read_by_dd(files):
    start = time.monotonic()
    for path in files:
        subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4M"], check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def read_by_us(bench, ranks, checkpoint, options):
    return float(output_of(ranks, bench, checkpoint, *options, "--stages", str(ranks), "--run.threads", "1", "--device", "cpu",
                           OMP_NUM_THREADS="1"))


def row(name, files, rounds, ours):
    pairs = []
    for _ in range(rounds):
        forget(files)
        dd = read_by_dd(files)
        forget(files)
        pairs.append((dd, ours()))
    size = sum(os.path.getsize(path) for path in files)
    dd, us = (statistics.median(times) for times in zip(*pairs))
    ratios = [mine / theirs for theirs, mine in pairs]
    print(f"| {name} | {size / 2**20:.0f} | {dd:.2f} ({1e-9 * size / dd:.2f} GB/s) | {us:.2f} | {us / dd:.2f} | {min(ratios):.2f}-{max(ratios):.2f} |",
          flush=True)


def machine(files):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), "?")
    disk = subprocess.run(["findmnt", "-no", "SOURCE,FSTYPE", "--target", files[0]], check=False, text=True, capture_output=True).stdout.split()
    return f"{cpu}, {os.cpu_count()} cores, {' '.join(disk)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/weights_bench"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--checkpoint")
    parser.add_argument("--run")
    options = parser.parse_args()
    folder = options.folder or pathlib.Path("weights-bench")
    if not folder.exists():
        make_folder(folder)
    files = sorted(str(path) for path in folder.glob("*.safetensors"))
    print(f"{machine(files)}; medians of {options.rounds} rounds\n")
    print("| read | MiB | dd, s | ours, s | ours / dd | of each round |\n|---|---|---|---|---|---|")
    for ranks in options.ranks.split(","):
        what = ["--model.from", str(folder), "--model.context", "128"]
        row(f"the folder, {ranks} rank{'s' if ranks != '1' else ''}", files, options.rounds,
            lambda ranks=ranks, what=what: read_by_us(options.bench, ranks, "-", what))
    if options.checkpoint:
        files = sorted(str(path) for path in pathlib.Path(options.checkpoint).glob("*.safetensors"))
        row("a checkpoint, its checksums too, 1 rank", files, options.rounds,
            lambda: read_by_us(options.bench, 1, options.checkpoint, [options.run]))


if __name__ == "__main__":
    main()
