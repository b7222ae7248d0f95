"""PyTorch's networks for bench/gpu/torch_peer.py: those that runtime/network/models builds for gpu_bench, by nn modules."""
import inspect
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Pre-norm, causal, GELU by tanh, biases everywhere: as runtime/network/models/decoder.cpp builds it. Queries, keys and values
    come from one product. `attend`, where given, takes the place of causal attention: q, k, v [b, heads, t, d] to the same."""

    def __init__(self, width, heads, kv_heads=None, dropout=0.0, attend=None):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.dropout, self.attend = heads, kv_heads or heads, width // heads, dropout, attend
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, (heads + 2 * self.kv_heads) * self.size)
        self.output = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def mixed(self, q, k, v):
        if self.attend is not None:
            return self.attend(q, k, v, self.dropout)
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout,
                                                       enable_gqa=self.kv_heads != self.heads)

    def dropped(self, x):
        return functional.dropout(x, self.dropout) if self.dropout > 0.0 else x

    def forward(self, x):
        batch, time_, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, time_, self.heads + 2 * self.kv_heads, self.size).transpose(1, 2)
        q, k, v = parts.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        x = x + self.dropped(self.output(self.mixed(q, k, v).transpose(1, 2).reshape(batch, time_, width)))
        return x + self.dropped(self.outer(functional.gelu(self.inner(self.norm2(x)), approximate="tanh")))


class Head(nn.Module):
    """The norm behind the blocks, the softmax matrix, which is the table of tokens, and the loss."""

    def __init__(self, width, table):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, table.num_embeddings, bias=False)
        self.classifier.weight = table.weight

    def forward(self, x, labels):
        return functional.cross_entropy(self.classifier(self.norm(x)).flatten(0, 1), labels.flatten())


class LanguageModel(nn.Module):
    """GPT-2 without dropout; gives the loss. What goes from block to block is bf16, as in gpu_bench: autocast alone would
    leave it in fp32."""

    def __init__(self, layers, width, heads, context, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = Head(width, self.tokens)

    def forward(self, tokens, labels):
        x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        x = x.to(torch.bfloat16)
        for block in self.blocks:
            x = block(x)
        return self.head(x, labels)


def varlen(request, device):
    """Flash attention over all rows as one, with the samples' offsets."""
    from torch.nn.attention.varlen import varlen_attn

    lengths = torch.tensor([length for row in request["packed"] for length in row], dtype=torch.int32)
    offsets = functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)).to(device)
    longest = int(lengths.max())
    known = inspect.signature(varlen_attn).parameters
    causal = {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}

    def attend(q, k, v, _dropout):
        batch, heads, time_, size = q.shape
        flat = [x.transpose(1, 2).reshape(batch * time_, heads, size) for x in (q, k, v)]
        mixed = varlen_attn(*flat, offsets, offsets, longest, longest, **causal)
        return mixed.view(batch, time_, heads, size).transpose(1, 2)

    return attend


def sample_of(request, device):
    """[batch, time]: which sample of its row a position is of."""
    rows = [torch.repeat_interleave(torch.arange(len(row)), torch.tensor(row)) for row in request["packed"]]
    return torch.stack(rows).to(device)


def flex(request, device):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    samples = sample_of(request, device)
    mask = create_block_mask(lambda b, _h, i, j: (i >= j) & (samples[b, i] == samples[b, j]), request["batch"], None,
                             request["sequence"], request["sequence"], device=device)
    return lambda q, k, v, _dropout: flex_attention(q, k, v, block_mask=mask)


def masked(request, device):
    samples = sample_of(request, device)
    causal = torch.ones(request["sequence"], request["sequence"], dtype=torch.bool, device=device).tril()
    mask = ((samples[:, :, None] == samples[:, None, :]) & causal)[:, None]
    return lambda q, k, v, dropout: functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


def packed_attention(request, device):
    """(The fastest here of the ways to keep samples of a row apart, a note of all times)."""
    heads, dropout = request["heads"], request.get("dropout", 0.0)
    shape = (request["batch"], request["sequence"], heads, request["width"] // heads)
    found, notes = [], []
    # The first two know no dropout; flex_attention is slow unless compiled.
    for way in (masked,) if dropout > 0.0 else (varlen, flex, masked):
        if way is flex and request["mode"] == "eager":
            continue
        try:
            attend = way(request, device)
            run = attend if request["mode"] == "eager" else torch.compile(attend)
            times = []
            for _ in range(5):
                q, k, v = (torch.randn(shape, device=device, dtype=torch.bfloat16).transpose(1, 2).requires_grad_()
                           for _ in range(3))
                g = torch.randn(shape, device=device, dtype=torch.bfloat16).transpose(1, 2)
                times.append(timed(lambda: run(q, k, v, dropout).backward(g), device))
            found.append((min(times[2:]), way.__name__, attend))
            notes.append(f"{way.__name__} {1e3 * found[-1][0]:.2f} ms")
        except Exception as error:  # a version or a device that has it not
            notes.append(f"{way.__name__} failed: {type(error).__name__}: {str(error).splitlines()[0][:80]}")
    if not found:
        raise RuntimeError("; ".join(notes))
    best = min(found, key=lambda one: one[0])
    return best[2], f"packed rows by {best[1]} (attention alone: {', '.join(notes)})"


def timed(work, device):
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    synchronize()
    start = time.perf_counter()
    work()
    synchronize()
    return time.perf_counter() - start
