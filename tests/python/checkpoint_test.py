#!/usr/bin/env python3
"""A checkpoint as others read it: by Python's safetensors, and its network in PyTorch.

Trains a small language model on two ranks, opens the checkpoint with safetensors, compares names,
shapes and values with what penstock says of it, and computes the logits again with a transformer
written in PyTorch: they must agree within 1e-4. So do frozen matrices in bf16 beside adapters with
what the same run has in fp32. Returns 77 where safetensors or PyTorch is missing.
"""

import json
import math
import pathlib
import sys
import tempfile

from command import run, skip

try:
    import safetensors
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    skip(missing, "safetensors numpy torch")

TOLERANCE = 1e-4
HEADS, LAYERS, WIDTH = 3, 2, 24
RUN_FILE = f"""[model]
kind = "transformer-lm"
layers = {LAYERS}
width = {WIDTH}
heads = {HEADS}
context = 11
vocabulary = 256
activation = "gelu"
[data]
kind = "text"
train = "water.txt"
[optimizer]
kind = "adamw"
learning_rate = 1e-2
[pipeline]
stages = 2
micro_batches = 2
micro_batch_size = 4
[run]
steps = 60
threads = 1
"""


def read_checkpoint(folder):
    """Every tensor of the model by name, from the files that the index names."""
    weights = {}
    index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    for file in sorted(set(index.values())):
        with safetensors.safe_open(folder / file, framework="pt") as shard:
            assert shard.metadata() == {"format": "pt"}, shard.metadata()
            for name in shard.keys():
                assert index[name] == file, name
                weights[name] = shard.get_tensor(name)
    assert weights.keys() == index.keys()
    return weights


def waves(time, width):
    half = (width + 1) // 2
    angles = torch.arange(time)[:, None] * 10000.0 ** (-(torch.arange(width) % half) / half)
    return torch.where(torch.arange(width) < half, angles.sin(), angles.cos())


def logits_of(weights, tokens):
    """GPipe's language model: pre-norm blocks, sinusoidal positions, a softmax matrix of its own."""

    def linear(name, x):
        return F.linear(x, weights[name + ".weight"], weights[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], 1e-5)

    def attention(name, x):
        q, k, v = (linear(f"{name}.{part}", x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return linear(name + ".output", mixed.transpose(1, 2).flatten(-2))

    x = F.embedding(tokens, weights["embedding.token.weight"]) * math.sqrt(WIDTH)
    x = x + waves(tokens.shape[1], WIDTH)
    for block in range(LAYERS):
        name = f"blocks.{block}"
        x = x + attention(name + ".attention", norm(name + ".norm1", x))
        inner = F.gelu(linear(name + ".feed_forward.in", norm(name + ".norm2", x)))
        x = x + linear(name + ".feed_forward.out", inner)
    return linear("classifier", norm("norm", x))


def compare_frozen_matrices(train, penstock, scratch):
    """What is frozen is in half the bytes what it is in the same run in fp32, rounded."""
    checkpoints = {}
    for precision in ("fp32", "bf16"):
        out = scratch / precision
        train("--lora.rank", 2, "--steps", 2, "--run.precision", precision, "--out", out)
        checkpoints[precision] = read_checkpoint(out / "checkpoints" / "latest")
    told = json.loads(run(penstock, "inspect", scratch / "bf16", "--json"))["tensors"]
    names = {torch.float32: "F32", torch.bfloat16: "BF16"}
    narrow = checkpoints["bf16"]
    assert {t["name"]: t["dtype"] for t in told} == {name: names[w.dtype] for name, w in narrow.items()}
    matrices = [name for name, weight in narrow.items() if weight.dtype == torch.bfloat16]
    assert len(matrices) == 6 * LAYERS + 2, matrices  # those of the blocks, of embedding and classifier
    for name in matrices:
        assert torch.equal(checkpoints["fp32"][name].to(torch.bfloat16), narrow[name]), name


def main(script, penstock, logits_program):
    with tempfile.TemporaryDirectory(prefix="penstock-python-") as scratch:
        out = pathlib.Path(scratch) / "run"
        run_file = pathlib.Path(scratch) / "lm.toml"
        run_file.write_text(RUN_FILE)
        (run_file.parent / "water.txt").write_text("Water falls down the penstock, turns the wheel; " * 50)

        def train(*options):
            run(script, "-n", 2, penstock, "train", run_file, *options)

        train("--out", out)
        checkpoint = out / "checkpoints" / "latest"
        weights = read_checkpoint(checkpoint)
        for path in (checkpoint, run_file):
            told = json.loads(run(penstock, "inspect", path, "--json"))["tensors"]
            assert {t["name"]: t["shape"] for t in told} == {n: list(w.shape) for n, w in weights.items()}, path
            assert all(t["dtype"] == "F32" for t in told)
        assert all(w.dtype == torch.float32 for w in weights.values())

        computed = json.loads(run(logits_program, checkpoint))
        for name, ends in computed["ends"].items():
            flat = weights[name].flatten()
            assert [flat[0].item(), flat[-1].item()] == ends, name
        ours = torch.tensor(computed["logits"])
        theirs = logits_of(weights, torch.tensor(computed["tokens"])).flatten(0, 1)
        assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
        difference = (ours - theirs).abs().max().item()
        print(f"{len(weights)} tensors; logits up to {ours.abs().max():.2f}, differing by {difference:.2g} at most")
        assert difference <= TOLERANCE
        compare_frozen_matrices(train, penstock, pathlib.Path(scratch))
        # The test can fail: of a network that is not quite this one.
        weights["blocks.0.norm1.bias"] += 0.01
        others = logits_of(weights, torch.tensor(computed["tokens"])).flatten(0, 1)
        assert (ours - others).abs().max().item() > TOLERANCE


if __name__ == "__main__":
    main(*sys.argv[1:])
