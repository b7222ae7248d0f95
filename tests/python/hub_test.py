#!/usr/bin/env python3
"""Hugging Face folders in and out, beside transformers: hub_test.py RANKS PENSTOCK LOGITS

Of every family small folders with random weights (tied and untied, grouped queries, windows, also of
some layers alone, scaled rotary positions, sharded, in
three dtypes): trained with a rate of next to nothing they give transformers' logits; after twenty steps of AdamW the exported folder has the weights
that PyTorch has; and an exported folder loads there with the same logits. Returns 77 where packages are missing.

hub_test.py --goldens DIR makes the tiny folders that tests/unit/records/hub/golden_test.cpp reads.
"""

import json
import pathlib
import sys

from command import run
from folder_runs import (CONTEXT, EPSILON, FOLDERS, RATE, difference, load, logits_of, random_folder, scratch_with_tokens,
                         steps_in_pytorch, train)
from safetensors.torch import load_file, save_file
import torch
import transformers

LOGITS = 1e-5  # of the largest logit
TOLERANCE = 1e-4  # of the largest change of a weight
STEPS = 20


def trained_in_pytorch(folder, tokens):
    """The same steps: rows end to end, weight decay for matrices and tables alone."""
    model = load(folder)
    named = dict(model.named_parameters())
    decays = {name: w.ndim > 1 and not name.endswith("bias") for name, w in named.items()}
    groups = [{"params": [w for name, w in named.items() if decays[name]], "weight_decay": 0.1},
              {"params": [w for name, w in named.items() if not decays[name]], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=EPSILON)
    return model, steps_in_pytorch(model, optimizer, tokens, STEPS)


def compare(name, programs, scratch, tokens):
    _, penstock, logits_program = programs
    folder = scratch / name
    random_folder(*FOLDERS[name], folder)
    assert (folder / "model.safetensors.index.json").exists()  # several files
    train(programs, scratch, folder, 1, 1e-30, scratch / f"{name}-0")
    ours, theirs = logits_of(logits_program, scratch / f"{name}-0/checkpoints/latest", load(folder))
    before = difference(ours, theirs)

    out = scratch / f"{name}-{STEPS}"
    train(programs, scratch, folder, STEPS, RATE, out)
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
    assert before <= LOGITS and after <= LOGITS
    assert worst <= TOLERANCE and moved > 10 * TOLERANCE
    assert abs(told - loss) <= TOLERANCE * loss


def compare_mxfp4(programs, scratch):
    """Experts in MXFP4 are what transformers makes of them, in training and in an export, whose config.json says nothing of it."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    _, penstock, logits_program = programs
    packed, plain, out = scratch / "mxfp4", scratch / "mxfp4-plain", scratch / "mxfp4-out"
    config = transformers.GptOssConfig.from_dict({**FOLDERS["gpt-oss"][0].to_dict(), "intermediate_size": 64})
    random_folder(config, "bfloat16", plain, "1GB")
    theirs = load_file(plain / "model.safetensors")
    ours = dict(theirs)
    for name in [name for name in theirs if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, columns, rows = ours.pop(name).shape
        blocks = torch.randint(256, (experts, rows, columns // 32, 16), dtype=torch.uint8)
        scales = torch.randint(119, 124, (experts, rows, columns // 32), dtype=torch.uint8)
        ours |= {name + "_blocks": blocks, name + "_scales": scales}
        theirs[name] = convert_moe_packed_tensors(blocks, scales)
    save_file(theirs, plain / "model.safetensors", {"format": "pt"})
    packed.mkdir()
    save_file(ours, packed / "model.safetensors", {"format": "pt"})
    said = {**json.loads((plain / "config.json").read_text()), "quantization_config": {"quant_method": "mxfp4"}}
    (packed / "config.json").write_text(json.dumps(said))
    train(programs, scratch, packed, 1, 1e-30, scratch / "mxfp4-run")
    found, expected = logits_of(logits_program, scratch / "mxfp4-run/checkpoints/latest", load(plain))
    run(penstock, "export", scratch / "mxfp4-run", out, "--dtype", "bf16")
    again = load_file(out / "model.safetensors")
    print(f"experts in MXFP4: logits {difference(found, expected):.1e}")
    assert difference(found, expected) <= LOGITS
    # A step of next to nothing moves what is zero by that.
    assert again.keys() == theirs.keys()
    assert max((again[name].double() - theirs[name].double()).abs().max().item() for name in theirs) <= 1e-29
    assert "quantization_config" not in json.loads((out / "config.json").read_text())


def make_golden(name, folder):
    """A folder of 16-bit weights and, in golden.json beside them, what transformers makes of some tokens."""
    config, _ = FOLDERS[name]
    tiny = config.to_dict()
    wide = "n_embd" if name == "gpt2" else "hidden_size"
    tiny.update({wide: 8, "vocab_size": 13, "num_attention_heads": 4, "n_layer": 2, "num_hidden_layers": 2,
                 "layer_types": (getattr(config, "layer_types", None) or [])[:2] or None})
    if name != "gpt2":
        tiny.update({"intermediate_size": 12, "head_dim": 4, "n_layer": None})
    if name.startswith(("stablelm", "gpt-neox", "cohere")):  # a head is the width over their number
        tiny.update({"num_attention_heads": 2, "num_key_value_heads": min(2, getattr(config, "num_key_value_heads", 2))})
    tiny = {key: value for key, value in tiny.items()
            if key in config.to_dict() and (value is not None or key.endswith("token_id"))}
    random_folder(type(config)(**tiny), "float16" if name == "llama-tied" else "bfloat16", folder, "2KB")
    for extra in folder.glob("generation_config.json"):
        extra.unlink()
    tokens = torch.arange(2 * CONTEXT).view(2, CONTEXT) ** 2 % 13
    with torch.no_grad():
        logits = load(folder)(tokens).logits
    golden = {"tokens": tokens.tolist(), "logits": [round(x, 6) for x in logits.flatten().tolist()]}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def check_unsaid(path):
    """The table of tests/unit/records/hub/unsaid_test.cpp: without a key transformers takes what stands there."""
    for family, table in json.loads(path.read_text()).items():
        for key, meaning in table["unsaid"].items():
            if meaning == "refused":
                continue
            without = {name: value for name, value in table["config"].items() if name != key}
            taken, said = (network_of(family, config) for config in (without, {**without, key: meaning}))
            assert taken == said, f"{family} without {key}: {taken}, not {said}"
    print("what keys mean that are not there: as in the table")


def network_of(family, config):
    """What transformers makes of it; sizes that it works out in its layers are worked out here."""
    made = transformers.AutoConfig.for_model(family, **config).to_dict()
    made.pop("partial_rotary_factor", None)  # a copy of what counts, which is in rope_parameters
    made.pop("sliding_window_pattern", None)  # likewise, which is in layer_types
    if family == "gpt2":
        made["n_inner"] = made["n_inner"] or 4 * made["n_embd"]
    if made.get("head_dim") is None and "hidden_size" in made:
        made["head_dim"] = made["hidden_size"] // made["num_attention_heads"]
    return made


def main(*programs):
    if programs[0] == "--goldens":
        for name in FOLDERS:
            if not name.endswith(("-longrope", "-dynamic")):  # they are for wider heads
                make_golden(name, pathlib.Path(programs[1]) / name)
        return
    check_unsaid(pathlib.Path(__file__).parent.parent / "unit/records/hub/unsaid.json")
    with scratch_with_tokens("hub", 3, STEPS) as (scratch, tokens):
        for name in FOLDERS:
            compare(name, programs, scratch, tokens)
        compare_mxfp4(programs, scratch)


if __name__ == "__main__":
    main(*sys.argv[1:])
