"""One process: a training step of PyTorch, eager or compiled.

Its argument is a row of compare.py as JSON. Micro-batches are accumulated; bf16 is autocast over
fp32 weights, which is what our precision = "bf16" is. One autocast stands around all micro-batches of
a step, so that each weight is narrowed once, as ours are. The loss is compiled with the network.
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

import meter
import networks
import specs


class Training(nn.Module):
    """The network and its loss, which a compiler is to see together."""

    def __init__(self, model, micro_batches):
        super().__init__()
        self.model, self.micro_batches = model, micro_batches

    def forward(self, inputs, labels):
        return F.cross_entropy(self.model(inputs), labels) / self.micro_batches


def main():
    spec = json.loads(sys.argv[1])
    torch.set_num_threads(specs.threads_of(spec))
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    before = meter.own_memory()
    model = nn.Sequential(*networks.make_layers(spec))
    if not specs.reads_text(spec):
        model = model.to(memory_format=torch.channels_last)
    optimizer = networks.make_optimizer(spec, model.parameters())
    micro_batches = spec["micro_batches"]
    training = Training(model, micro_batches)
    if spec["mode"] == "compiled":
        # A compiler that measures kernels would do no better here: products go to oneDNN or MKL.
        training = torch.compile(training)
    generator = torch.Generator().manual_seed(2)
    narrow = spec["precision"] == "bf16"
    last = [0.0]

    def step():
        # Every step has new data, as ours has.
        batches = [
            networks.make_batch(spec, spec["micro_batch_size"], generator)
            for _ in range(micro_batches)
        ]
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            for inputs, labels in batches:
                loss = training(inputs, labels)
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
