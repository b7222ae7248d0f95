#!/usr/bin/env python3
"""Adapters (LoRA) in and out, beside peft: lora_test.py RANKS PENSTOCK LOGITS

Small networks with random weights, and folders of random adapters as peft writes them. From both, fifty steps of AdamW give the adapters
that PyTorch has; the exported folder loads in peft, and the one with --merge in transformers, with the same logits. Returns 77 where packages
are missing.

lora_test.py --goldens DIR makes the folder qwen2-lora there, beside the qwen2 that hub_test.py made, for tests/unit/records/hub/golden_test.cpp.
"""

import json
import pathlib
import sys
import warnings

from command import run, skip
from folder_runs import (CONTEXT, EPSILON, FOLDERS, RATE, difference, load, logits_of, random_folder, scratch_with_tokens,
                         steps_in_pytorch, train)

try:
    import peft
    import safetensors.torch
    import torch
except ImportError as missing:
    skip(missing, "peft transformers safetensors numpy torch")

warnings.filterwarnings("ignore", category=UserWarning)  # peft on GPT-2's matrices, which lie the other way round
STEPS = 50
TOLERANCE = 1e-4  # of what moved most, or of the largest logit
DECAY = 0.1
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
CASES = {
    "llama-3": {"target_modules": ["q_proj", "v_proj"], "r": 4, "lora_alpha": 8},
    "qwen2": {"target_modules": "all-linear", "r": 3, "lora_alpha": 16, "use_rslora": True},
    "gpt2": {"target_modules": ["c_fc", "c_proj"], "r": 8, "lora_alpha": 8},
    "glm4": {"target_modules": ["q_proj", "k_proj", "o_proj", "down_proj"], "r": 4, "lora_alpha": 8},
    "gpt-neox": {"target_modules": ["dense", "dense_h_to_4h", "dense_4h_to_h"], "r": 4, "lora_alpha": 8},
    "cohere": {"target_modules": "all-linear", "r": 3, "lora_alpha": 8},
    "gpt-oss": {"target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"], "r": 4, "lora_alpha": 8},
    "mixtral": {"target_modules": ["q_proj", "o_proj"], "target_parameters": ["mlp.gate.weight", *EXPERTS], "r": 3, "lora_alpha": 6},
    "qwen3-moe": {"target_modules": ["v_proj"], "target_parameters": EXPERTS, "r": 4, "lora_alpha": 8},
}


def random_adapters(base, options, folder, dtype=torch.float32):
    """A folder of adapters that do something: peft begins with zeros."""
    torch.manual_seed(11)
    model = peft.get_peft_model(load(base), peft.LoraConfig(task_type="CAUSAL_LM", **options))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(0.0, 0.05)
            if "lora_" in name:
                weight.copy_(weight.to(dtype))
    model.save_pretrained(folder)


def with_adapters(base, folder, trainable=False):
    return peft.PeftModel.from_pretrained(load(base), folder, is_trainable=trainable).eval()


def adapters_of(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters() if "lora_" in name}


def trained_in_pytorch(model, tokens):
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.999), eps=EPSILON, weight_decay=DECAY)
    steps_in_pytorch(model, optimizer, tokens, STEPS)
    return adapters_of(model)


def compare(name, programs, scratch, tokens):
    _, penstock, logits_program = programs
    base, adapters, out = scratch / name, scratch / f"{name}-peft", scratch / f"{name}-run"
    random_folder(*FOLDERS[name], base)
    random_adapters(base, CASES[name], adapters)
    train(programs, scratch, base, STEPS, RATE, out, "--lora.from", adapters)

    run(penstock, "export", out, scratch / f"{name}-out")
    again = with_adapters(base, scratch / f"{name}-out")
    start = with_adapters(base, adapters, trainable=True)
    before = adapters_of(start)
    theirs = trained_in_pytorch(start, tokens)
    ours = adapters_of(again)
    assert ours.keys() == theirs.keys()
    moved = max((weight - before[key]).abs().max().item() for key, weight in theirs.items())
    worst = max((weight - theirs[key]).abs().max().item() for key, weight in ours.items())

    logits = difference(*logits_of(logits_program, out / "checkpoints/latest", again))
    run(penstock, "export", out, scratch / f"{name}-merged", "--merge", "--file-size", "20000")
    merged = difference(*logits_of(logits_program, out / "checkpoints/latest", load(scratch / f"{name}-merged")))
    print(f"{name:8} {len(ours)} adapters after {STEPS} steps {worst:.1e} of {moved:.1e}; logits {logits:.1e}, merged {merged:.1e}")
    assert worst <= TOLERANCE * moved and moved > 0.01
    assert logits <= TOLERANCE and merged <= TOLERANCE
    # What the base alone gives is something else.
    assert difference(*logits_of(logits_program, out / "checkpoints/latest", load(base))) > 100 * TOLERANCE


def make_golden(goldens):
    base, folder = goldens / "qwen2", goldens / "qwen2-lora"
    random_adapters(base, {"target_modules": ["q_proj", "v_proj", "down_proj"], "r": 2, "lora_alpha": 4}, folder, torch.bfloat16)
    (folder / "README.md").unlink()
    file = folder / "adapter_model.safetensors"
    small = {name: weight.to(torch.bfloat16) for name, weight in safetensors.torch.load_file(file).items()}
    safetensors.torch.save_file(small, file, {"format": "pt"})
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "qwen2"
    config["target_modules"].sort()  # a set in peft
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tokens = torch.arange(2 * CONTEXT).view(2, CONTEXT) ** 2 % 13
    with torch.no_grad():
        logits = with_adapters(base, folder)(tokens).logits
    golden = {"tokens": tokens.tolist(), "logits": [round(x, 6) for x in logits.flatten().tolist()]}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def main(*programs):
    if programs[0] == "--goldens":
        make_golden(pathlib.Path(programs[1]))
        return
    torch.set_num_threads(1)
    with scratch_with_tokens("lora", 5, STEPS) as (scratch, tokens):
        for name in CASES:
            compare(name, programs, scratch, tokens)


if __name__ == "__main__":
    main(*sys.argv[1:])
