"""Prints the parameters of an image network and the FLOPs of the products that one image takes, forward and backward.

Its argument is a row's spec as JSON. Nothing is computed: the modules live on PyTorch's meta device.
"""

import json
import sys

import torch
from torch import nn

import networks


def main():
    spec = json.loads(sys.argv[1])
    with torch.device("meta"):
        model = nn.Sequential(*networks.make_layers(spec))
        image = torch.empty(1, 3, spec["image"], spec["image"])
    flops = 0

    def add(module, inputs, output):
        nonlocal flops
        # Data has no gradient.
        passes = 3 if inputs[0].requires_grad else 2
        flops += passes * 2 * output.numel() * module.weight[0].numel()

    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_forward_hook(add)
    model(image)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(json.dumps({"flops": flops, "parameters": parameters}))


main()
