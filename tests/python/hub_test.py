#!/usr/bin/env python3
"""Hugging Face folders in and out, beside transformers: hub_test.py MPIEXEC PENSTOCK LOGITS

Of every family small folders with random weights (tied and untied, grouped queries, windows, also of
some layers alone, scaled rotary positions, sharded, in
three dtypes): trained with a rate of next to nothing they give transformers' logits; after twenty steps of AdamW the exported folder has the weights
that PyTorch has; and an exported folder loads there with the same logits. Returns 77 where packages are missing.

hub_test.py --goldens DIR makes the tiny folders that tests/unit/hub/golden_test.cpp reads.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}; `pip install transformers safetensors numpy torch`, and configure with -DPENSTOCK_PYTHON=that python")
    sys.exit(77)

transformers.logging.set_verbosity_error()
TOLERANCE = 1e-4  # of the largest logit, or of the largest change of a weight
CONTEXT, VOCABULARY, STEPS, RATE = 12, 61, 20, 1e-3
MICRO_BATCHES, ROWS = 2, 3
# The gradient of a key's bias is nothing but rounding, which a smaller one would make whole steps of.
EPSILON = 1e-5
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
         "max_position_embeddings": 64, "initializer_range": 0.1, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
FOLDERS = {
    "gpt2": (transformers.GPT2Config(n_layer=3, n_embd=32, n_head=4, vocab_size=VOCABULARY, n_positions=64, initializer_range=0.1,
                                     attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, bos_token_id=1, eos_token_id=2), "float32"),
    "llama-3": (transformers.LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=LLAMA3), "bfloat16"),
    "llama-tied": (transformers.LlamaConfig(**SIZES, num_key_value_heads=4, rope_parameters=LINEAR, tie_word_embeddings=True,
                                            attention_bias=True, mlp_bias=True), "float16"),
    "mistral": (transformers.MistralConfig(**SIZES, num_key_value_heads=1, head_dim=16, sliding_window=5), "float32"),
    "qwen2": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2, tie_word_embeddings=True), "float32"),
    "qwen2-windows": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2, use_sliding_window=True, sliding_window=4, max_window_layers=1),
                      "float32"),
    "qwen3-windows": (transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16, use_sliding_window=True, sliding_window=5,
                                               layer_types=["sliding_attention", "full_attention", "sliding_attention"]), "float32"),
    "qwen3": (transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16), "float32"),
}
RUN_FILE = f"""[model]
context = {CONTEXT}
[data]
kind = "tokens"
train = "tokens.npy"
shuffle = false
[optimizer]
kind = "adamw"
weight_decay = 0.1
epsilon = {EPSILON}
[pipeline]
stages = 2
micro_batches = {MICRO_BATCHES}
micro_batch_size = {ROWS}
[run]
threads = 1
trace = 0
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nreturned {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def random_folder(config, dtype, folder, file_size="20KB"):
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config).to(getattr(torch, dtype))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:  # norms and biases, which begin as ones and zeros
                weight.add_(torch.randn_like(weight) * 0.1)
    model.save_pretrained(folder, max_shard_size=file_size)


def difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def logits_of(program, checkpoint, model):
    computed = json.loads(run(program, checkpoint))
    with torch.no_grad():
        theirs = model(torch.tensor(computed["tokens"])).logits.flatten(0, 1)
    return torch.tensor(computed["logits"]), theirs


def trained_in_pytorch(folder, tokens):
    """The same steps: rows end to end, weight decay for matrices and tables alone."""
    model = load(folder)
    named = dict(model.named_parameters())
    groups = [{"params": [w for w in named.values() if w.ndim > 1], "weight_decay": 0.1},
              {"params": [w for w in named.values() if w.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=EPSILON)
    rows = MICRO_BATCHES * ROWS
    for step in range(STEPS):
        first = step * rows * CONTEXT
        inputs = tokens[first:first + rows * CONTEXT].view(rows, CONTEXT)
        labels = tokens[first + 1:first + 1 + rows * CONTEXT].view(rows, CONTEXT)
        loss = torch.nn.functional.cross_entropy(model(inputs).logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


def compare(name, programs, scratch, tokens):
    mpiexec, penstock, logits_program = programs
    folder = scratch / name
    random_folder(*FOLDERS[name], folder)
    assert (folder / "model.safetensors.index.json").exists()  # several files
    train = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n", 2, penstock, "train", scratch / "run.toml", "--model.from", folder]
    run(*train, "--steps", 1, "--optimizer.learning_rate", 1e-30, "--out", scratch / f"{name}-0")
    ours, theirs = logits_of(logits_program, scratch / f"{name}-0/checkpoints/latest", load(folder))
    before = difference(ours, theirs)

    out = scratch / f"{name}-{STEPS}"
    run(*train, "--steps", STEPS, "--optimizer.learning_rate", RATE, "--out", out)
    run(penstock, "export", out, scratch / f"{name}-out", "--file-size", "20000")
    again = load(scratch / f"{name}-out")
    trained, loss = trained_in_pytorch(folder, tokens)
    start = dict(load(folder).named_parameters())
    theirs = dict(trained.named_parameters())
    moved = max((weight - start[key]).abs().max().item() for key, weight in theirs.items())
    # Of GPT-2's positions as many as the context has.
    worst = max((weight - theirs[key][:len(weight)]).abs().max().item() for key, weight in again.named_parameters())
    ours, theirs = logits_of(logits_program, out / "checkpoints/latest", again)
    after = difference(ours, theirs)
    told = json.loads((out / "summary.json").read_text())["final_loss"]
    print(f"{name:14} logits {before:.1e}, exported {after:.1e}; weights after {STEPS} steps {worst:.1e} of {moved:.1e}; "
          f"loss {told:.6f} and {loss:.6f}")
    assert before <= TOLERANCE and after <= TOLERANCE
    assert worst <= TOLERANCE and moved > 10 * TOLERANCE
    assert abs(told - loss) <= TOLERANCE * loss


def make_golden(name, folder):
    """A folder of 16-bit weights and, in golden.json beside them, what transformers makes of some tokens."""
    config, _ = FOLDERS[name]
    tiny = config.to_dict()
    wide = "n_embd" if name == "gpt2" else "hidden_size"
    tiny.update({wide: 8, "vocab_size": 13, "num_attention_heads": 4, "n_layer": 2, "num_hidden_layers": 2,
                 "layer_types": (getattr(config, "layer_types", None) or [])[:2] or None})
    if name != "gpt2":
        tiny.update({"intermediate_size": 12, "head_dim": 4, "n_layer": None})
    tiny = {key: value for key, value in tiny.items() if key in config.to_dict() and value is not None}
    random_folder(type(config)(**tiny), "float16" if name == "llama-tied" else "bfloat16", folder, "2KB")
    for extra in folder.glob("generation_config.json"):
        extra.unlink()
    tokens = torch.arange(2 * CONTEXT).view(2, CONTEXT) ** 2 % 13
    with torch.no_grad():
        logits = load(folder)(tokens).logits
    golden = {"tokens": tokens.tolist(), "logits": [round(x, 6) for x in logits.flatten().tolist()]}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def main(*programs):
    if programs[0] == "--goldens":
        for name in FOLDERS:
            make_golden(name, pathlib.Path(programs[1]) / name)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-hub-") as place:
        scratch = pathlib.Path(place)
        numbers = numpy.random.default_rng(3).integers(0, VOCABULARY, MICRO_BATCHES * ROWS * CONTEXT * STEPS + 1, dtype=numpy.uint16)
        numpy.save(scratch / "tokens.npy", numbers)
        (scratch / "run.toml").write_text(RUN_FILE)
        tokens = torch.tensor(numbers.astype(numpy.int64))
        for name in FOLDERS:
            compare(name, programs, scratch, tokens)


if __name__ == "__main__":
    main(*sys.argv[1:])
