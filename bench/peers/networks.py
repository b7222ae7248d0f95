"""Our networks as a PyTorch user writes them: same layers, same sizes, same number of parameters."""

import torch
from torch import nn
from torch.nn import functional as F

import amoebanet
import specs


class Block(nn.Module):
    """Pre-norm Transformer block: runtime/network/models/decoder.cpp."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)  # one product where ours are three
        self.output = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, hidden)
        self.out = nn.Linear(hidden, width)

    def forward(self, x):
        batch, time, width = x.shape
        qkv = self.query_key_value(self.norm1(x)).view(batch, time, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(a.transpose(1, 2).reshape(batch, time, width))
        return x + self.out(F.gelu(self.hidden(self.norm2(x))))


class Embedding(nn.Module):
    def __init__(self, vocabulary, width, context):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)

    def forward(self, tokens):
        return self.token(tokens) + self.position.weight[: tokens.shape[1]]


class Classifier(nn.Linear):
    """[batch, time, width] -> [batch x time, classes], as the loss wants it."""

    def forward(self, x):
        return super().forward(x.flatten(0, -2))


def transformer_layers(spec):
    """A list of modules, one for each of our layers, so that stages are cut at the same places."""
    width = spec["width"]
    layers = [Embedding(spec["vocabulary"], width, spec["context"])]
    layers += [Block(width, spec["heads"], 4 * width) for _ in range(spec["layers"])]
    layers += [nn.LayerNorm(width), Classifier(width, spec["vocabulary"])]
    return layers


class Mixtral(nn.Module):
    """What transformers makes of it."""

    def __init__(self, spec):
        super().__init__()
        import transformers

        config = transformers.MixtralConfig(
            vocab_size=spec["vocabulary"],
            hidden_size=spec["width"],
            intermediate_size=spec["hidden"],
            num_hidden_layers=spec["layers"],
            num_attention_heads=spec["heads"],
            num_key_value_heads=spec["heads"],
            num_local_experts=spec["experts"],
            num_experts_per_tok=spec["chosen"],
            max_position_embeddings=spec["context"],
            use_cache=False,
        )
        self.model = transformers.MixtralForCausalLM(config)
        if "products" in spec:
            self.model.set_experts_implementation(spec["products"])

    def forward(self, tokens):
        return self.model(input_ids=tokens).logits.flatten(0, -2)


def convolution(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, bias=False)


class ResidualBlock(nn.Module):
    """Basic block: runtime/network/models/resnet.cpp."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.norm1 = convolution(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = convolution(width, width, 3, 1), nn.BatchNorm2d(width)
        self.shortcut = None
        if stride != 1 or inputs != width:
            self.shortcut = nn.Sequential(
                convolution(inputs, width, 1, stride), nn.BatchNorm2d(width)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def resnet18_layers(spec):
    layers = [
        nn.Sequential(
            convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
    ]
    inputs = 64
    for group, width in enumerate([64, 128, 256, 512]):
        for i in range(2):
            layers.append(ResidualBlock(inputs, width, 2 if group > 0 and i == 0 else 1))
            inputs = width
    layers += [
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(512, spec["classes"]),
    ]
    return layers


MAKERS = {
    "transformer": transformer_layers,
    "mixture": lambda spec: [Mixtral(spec)],
    "resnet": resnet18_layers,
    "amoebanet": amoebanet.layers,
}


def make_layers(spec):
    """Throws unless there are as many parameters as the spec says, if it does."""
    layers = MAKERS[spec["network"]](spec)
    count = sum(parameter.numel() for layer in layers for parameter in layer.parameters())
    if spec.get("parameters", count) != count:
        raise ValueError(f"another network: {count} parameters, ours has {spec['parameters']}")
    return layers


def make_batch(spec, samples, generator):
    """Inputs and labels of one micro-batch."""
    if specs.reads_text(spec):
        shape = (samples, spec["context"] + 1)
        tokens = torch.randint(spec["vocabulary"], shape, generator=generator)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1).contiguous()
    images = torch.randn(samples, 3, spec["image"], spec["image"], generator=generator)
    labels = torch.randint(spec["classes"], (samples,), generator=generator)
    return images.contiguous(memory_format=torch.channels_last), labels


def make_optimizer(spec, parameters):
    if specs.reads_text(spec):
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, fused=True)
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
