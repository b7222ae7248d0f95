"""AmoebaNet-D with the wide stem as a PyTorch user writes it: runtime/network/models/amoebanet/amoebanet.cpp and amoebanet_cells.cpp."""

import torch
from torch import nn
from torch.nn import functional as F

# Five sums of two operands (operation, state); states 0 and 1 are what comes in, 2 .. 6 the sums.
NORMAL = {
    "sums": [
        [("conv1x1", 1), ("max3x3", 1)],
        [("identity", 1), ("conv7x7", 0)],
        [("conv1x1", 0), ("conv7x7", 0)],
        [("max3x3", 2), ("identity", 2)],
        [("average3x3", 1), ("conv1x1", 5)],
    ],
    "outputs": [0, 3, 4, 6],
}
REDUCTION = {
    "sums": [
        [("max2x2", 0), ("max3x3", 0)],
        [("identity", 2), ("conv3x3", 1)],
        [("conv7x7", 2), ("max3x3", 2)],
        [("identity", 3), ("max2x2", 1)],
        [("average3x3", 2), ("conv1x1", 3)],
    ],
    "outputs": [4, 5, 6],
}


def convolution(inputs, outputs, kernel=(1, 1), stride=(1, 1)):
    """A convolution and its batch norm."""
    padding = tuple((k - 1) // 2 for k in kernel)
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
        nn.BatchNorm2d(outputs),
    ]


def operation(kind, filters, stride):
    """The layers of one operand. Convolutions follow a ReLU; the first one is the cell's to share."""
    narrow = filters // 4
    if kind == "identity":
        return convolution(filters, filters, stride=(stride, stride)) if stride > 1 else []
    if kind == "conv1x1":
        return convolution(filters, filters, stride=(stride, stride))
    if kind == "conv3x3":
        middle = [((3, 3), (stride, stride))]
    elif kind == "conv7x7":
        middle = [((1, 7), (1, stride)), ((7, 1), (stride, 1))]
    elif kind == "max2x2":
        return [nn.MaxPool2d(2, stride)]
    elif kind == "max3x3":
        return [nn.MaxPool2d(3, stride, 1)]
    else:
        return [nn.AvgPool2d(3, stride, 1, count_include_pad=False)]
    layers = convolution(filters, narrow)
    for kernel, strides in middle:
        layers += [nn.ReLU(), *convolution(narrow, narrow, kernel, strides)]
    return [*layers, nn.ReLU(), *convolution(narrow, filters)]


class FactorizedReduction(nn.Module):
    """Half of the channels made of every other pixel, half of those between."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs // 2, 1, 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(torch.cat([self.even(x), self.odd(x[:, :, 1:, 1:])], 1))


class Cell(nn.Module):
    """(h, p), or h alone -> (output, h): runtime/network/layers/library/cell.h."""

    def __init__(self, genotype, current, previous, filters):
        super().__init__()
        reduction = genotype is REDUCTION
        self.current = nn.Sequential(*convolution(current, filters))
        self.previous = previous
        self.states = [state for operands in genotype["sums"] for _, state in operands]
        self.operands = nn.ModuleList(
            nn.Sequential(*operation(kind, filters, 2 if reduction and state < 2 else 1))
            for operands in genotype["sums"]
            for kind, state in operands
        )
        self.outputs = genotype["outputs"]

    def forward(self, inputs):
        h, p = inputs if isinstance(inputs, tuple) else (inputs, inputs)
        states = [self.current(F.relu(h)), p if self.previous is None else self.previous(F.relu(p))]
        relus = {}

        def operand(i):
            layers, state = self.operands[i], self.states[i]
            if len(layers) == 0 or not isinstance(layers[0], nn.Conv2d):
                return layers(states[state])
            if state not in relus:
                relus[state] = F.relu(states[state])
            return layers(relus[state])

        for i in range(0, len(self.operands), 2):
            states.append(operand(i) + operand(i + 1))
        return torch.cat([states[i] for i in self.outputs], 1), h


class Classifier(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.linear = nn.Linear(inputs, classes)

    def forward(self, inputs):
        return self.linear(inputs[0].mean((2, 3)))


def layers(spec):
    filters, cells = spec["filters"], spec["layers"] // 3
    found = [nn.Sequential(*convolution(3, filters // 4, (3, 3), (2, 2)))]
    current = previous = filters // 4
    halved = False  # there is a reduction between the two tensors that come in

    def add(genotype, width):
        nonlocal current, previous, halved
        if halved:
            before = FactorizedReduction(previous, width)
        elif len(found) == 1 or previous != width:
            before = nn.Sequential(*convolution(previous, width))
        else:
            before = None
        found.append(Cell(genotype, current, before, width))
        previous, current = current, width * len(genotype["outputs"])
        halved = genotype is REDUCTION

    add(REDUCTION, filters // 2)
    add(REDUCTION, filters)
    for stage in range(3):
        if stage > 0:
            add(REDUCTION, filters << stage)
        for _ in range(cells):
            add(NORMAL, filters << stage)
    return [*found, Classifier(current, spec["classes"])]
