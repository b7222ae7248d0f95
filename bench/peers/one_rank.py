"""One process, one thread: a training step of PyTorch, eager or compiled.

Its argument is a row of compare.py as JSON. Micro-batches are accumulated; bf16 is autocast over
fp32 weights, which is what our precision = "bf16" is.
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

import meter
import networks


def main():
    spec = json.loads(sys.argv[1])
    torch.set_num_threads(spec.get("threads", 1))
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    before = meter.own_memory()
    model = nn.Sequential(*networks.make_layers(spec))
    if spec["network"] != "transformer":
        model = model.to(memory_format=torch.channels_last)
    optimizer = networks.make_optimizer(spec, model.parameters())
    if spec["mode"] == "compiled":
        # A compiler that measures kernels would do no better here: products go to oneDNN or MKL.
        model = torch.compile(model)
    generator = torch.Generator().manual_seed(2)
    micro_batches = spec["micro_batches"]
    narrow = spec["precision"] == "bf16"
    last = [0.0]

    def step():
        # Every step has new data, as ours has.
        batches = [
            networks.make_batch(spec, spec["micro_batch_size"], generator)
            for _ in range(micro_batches)
        ]
        for inputs, labels in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
                logits = model(inputs)
                loss = F.cross_entropy(logits, labels) / micro_batches
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last[0] = loss.item() * micro_batches

    first = True
    for count in meter.commands():
        wall, cpu = meter.measure(step, count)
        meter.answer(wall, cpu, meter.largest_own_memory() - before, last[0])
        if first:
            meter.forget_largest()
        first = False


main()
