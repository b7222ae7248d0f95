#!/usr/bin/env python3
"""PyTorch's side of bench/gpu/run.py: the same work as gpu_bench, requests and answers in the same lines of JSON.

    torch_peer.py [--device cuda|cpu]

A request may name a "mode": "eager", or one of torch.compile ("default", "max-autotune-no-cudagraphs", ...).
Choices, each the one that favours PyTorch where there was one:
  blocks  parameters resident in bf16, no autocast; queries, keys and values from one product; gradients are added
          to existing ones in bf16 (gpu_bench keeps fp32 parameters and adds to gradients in fp32)
  resnet  torchvision's, channels-last, fp32 parameters under bf16 autocast, fused SGD, cuDNN's own search for
          algorithms (gpu_bench chooses them by shape)
"""
import argparse
import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Pre-norm, causal, GELU by tanh, biases everywhere: as runtime/models/decoder.cpp builds it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, time_, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, time_, width))
        return x + self.outer(functional.gelu(self.inner(self.norm2(x)), approximate="tanh"))


def compiled(module, mode):
    return module if mode == "eager" else torch.compile(module, mode=mode)


class Product:
    def __init__(self, request, device):
        size = request["size"]
        self.x = torch.rand(size, size, device=device, dtype=torch.bfloat16) * 2 - 1
        self.w = torch.rand(size, size, device=device, dtype=torch.bfloat16) * 2 - 1
        self.y = torch.empty(size, size, device=device, dtype=torch.bfloat16)
        self.flops = 2.0 * size**3

    def prepare(self):
        pass

    def iterate(self):
        torch.matmul(self.x, self.w.t(), out=self.y)


class Blocks:
    def __init__(self, request, device):
        width, tokens = request["width"], request["sequence"]
        shape = (request["batch"], tokens, width)
        blocks = nn.Sequential(*(Block(width, request["heads"]) for _ in range(request["blocks"])))
        self.run = compiled(blocks.to(device=device, dtype=torch.bfloat16), request["mode"])
        self.x = torch.randn(shape, device=device, dtype=torch.bfloat16).requires_grad_()
        self.gradient = torch.randn(shape, device=device, dtype=torch.bfloat16)
        # Half of the attention is masked and not counted, as in gpu_bench.
        self.flops = 3.0 * request["blocks"] * request["batch"] * tokens * (24.0 * width**2 + 2.0 * tokens * width)

    def prepare(self):
        self.x.grad = None

    def iterate(self):
        self.run(self.x).backward(self.gradient)


class ResNet:
    def __init__(self, request, device):
        import torchvision

        model = getattr(torchvision.models, f"resnet{request['depth']}")()
        model = model.to(device=device, memory_format=torch.channels_last)
        self.device = device
        fused = {"fused": True} if device == "cuda" else {}
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, **fused)
        self.run = compiled(model, request["mode"])
        shape = (request["batch"], 3, request["size"], request["size"])
        self.images = torch.randn(shape, device=device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (request["batch"],), device=device)
        self.flops = 0.0

    def prepare(self):
        pass

    def iterate(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = functional.cross_entropy(self.run(self.images), self.labels)
        loss.backward()
        self.optimizer.step()


WORKLOADS = {"matmul": Product, "blocks": Blocks, "resnet": ResNet}


class Server:
    def __init__(self, device):
        self.device = device
        self.known = None
        self.workload = None

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def answer(self, request):
        if request["what"] == "about":
            name = torch.cuda.get_device_name() if self.device == "cuda" else "cpu"
            return {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda,
                    "cudnn": torch.backends.cudnn.version()}
        iterations = request.pop("iterations", 20)
        request.setdefault("mode", "eager")
        if request != self.known:
            self.set_up(request)
        peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else 0
        return {"ms": self.timed(iterations), "flops": self.workload.flops, "peak_bytes": peak}

    def set_up(self, request):
        self.workload, self.known = None, None
        torch._dynamo.reset()
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        self.workload = WORKLOADS[request["what"]](request, self.device)
        self.known = request
        for _ in range(4):  # the first ones compile
            self.workload.prepare()
            self.workload.iterate()
        self.synchronize()

    def timed(self, iterations):
        if self.device != "cuda":
            return [self.by_the_host() for _ in range(iterations)]
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(iterations)]
        self.synchronize()
        for begin, end in events:
            self.workload.prepare()
            begin.record()
            self.workload.iterate()
            end.record()
        self.synchronize()
        return [begin.elapsed_time(end) for begin, end in events]

    def by_the_host(self):
        self.workload.prepare()
        start = time.perf_counter()
        self.workload.iterate()
        return 1e3 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options = parser.parse_args()
    # Compilers started from here, and whatever prints, must not reach the lines of the protocol.
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_peer.py: PyTorch sees no GPU")
    torch.backends.cudnn.benchmark = True
    server = Server(options.device)
    for line in iter(requests.readline, ""):
        try:
            reply = server.answer(json.loads(line))
        except Exception as error:  # a row that fails must not take the others with it
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
