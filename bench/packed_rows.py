#!/usr/bin/env python3
"""Packed rows beside padded ones: packed_rows.py PENSTOCK FOLDER [--context N] [--pairs N] [--steps N]

FOLDER has pairs of sentences as train.en.gz and train.de.gz (Multi30k). They become lines of JSON with a prompt and a completion, cut by byte pairs
that are trained on them (needs the `tokenizers` package). One decoder is trained on them in turns, packed and padded, with as many tokens of
samples a step as whole rows allow; the median step of a run counts, without its first three.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import tokenizers

MODEL = """[model]
kind = "decoder"
layers = 4
width = 256
heads = 4
kv_heads = 2
hidden = 768
positions = "rotary"
norm = "rms"
activation = "silu"
gated = true
bias = false
attention_bias = false
tied_embedding = true
[data]
kind = "jsonl"
train = "train.jsonl"
vocabulary = "folder"
too_long = "leave-out"
[pipeline]
micro_batches = 2
[run]
threads = 1
trace = 0
[checkpoint]
last = false
"""
ROWS = 4  # packed, of a micro-batch


def make_data(source, place):
    """Returns the tokens of each pair."""
    english, german = ([line.rstrip("\n") for line in gzip.open(source / f"train.{language}.gz", "rt", encoding="utf-8")]
                       for language in ("en", "de"))
    words = tokenizers.Tokenizer(tokenizers.models.BPE())
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.train_from_iterator(english + german, tokenizers.trainers.BpeTrainer(
        vocab_size=8000, show_progress=False, special_tokens=["<|end|>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    (place / "folder").mkdir()
    words.save(str(place / "folder" / "tokenizer.json"))
    (place / "folder" / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    (place / "train.jsonl").write_text("".join(json.dumps({"prompt": a + "\n", "completion": b}) + "\n" for a, b in zip(english, german)))
    (place / "run.toml").write_text(MODEL)
    return [len(words.encode(f"{a}\n{b}").ids) + 1 for a, b in zip(english, german)]


def answers_per_second(penstock, place, options, steps):
    """And what the run made anew in a steady step."""
    out = place / "run"
    command = [penstock, "train", place / "run.toml", "--overwrite", "--out", out, "--steps", steps, *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    steps = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()][3:]
    summary = json.loads((out / "summary.json").read_text())
    made = summary["ranks_detail"][0]["primitives_per_step"]
    return 1e3 / statistics.median(step["step_ms"] / step["tokens"] for step in steps), made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--context", type=int, default=104)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-packed-") as scratch:
        place = pathlib.Path(scratch)
        lengths = [length for length in make_data(given.folder, place) if length <= given.context + 1]
        mean = sum(lengths) / len(lengths) - 1
        kinds = {"packed": ROWS, "padded": round(ROWS * given.context * 0.97 / mean)}
        print(f"{len(lengths)} pairs of {mean:.1f} positions, the longest {max(lengths) - 1}; rows of {given.context}: {kinds}")
        ratios = []
        for _ in range(given.pairs):
            speed = {}
            for kind, rows in kinds.items():
                options = ["--model.context", given.context, "--data.packed", str(kind == "packed").lower(), "--micro-batch-size", rows]
                speed[kind], made = answers_per_second(given.penstock, place, options, given.steps)
                print(f"{kind}: {speed[kind]:.0f} tokens of answers a second, {made} primitives made in a steady step")
            ratios.append(speed["packed"] / speed["padded"])
        print(f"packed / padded {statistics.median(ratios):.2f}, {min(ratios):.2f}-{max(ratios):.2f}")


if __name__ == "__main__":
    main()
