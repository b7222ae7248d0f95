#!/usr/bin/env python3
"""PyTorch's side of bench/gpu/run.py: the same work as gpu_bench, requests and answers in the same lines of JSON.

    torch_peer.py [--device cuda|cpu]

A request may name a "mode": "eager", or one of torch.compile ("default", "max-autotune-no-cudagraphs", ...).
The networks are those of torch_networks.py. Choices, each the one that favours PyTorch where there was one:
  blocks  parameters resident in bf16, no autocast; gradients are added to existing ones in bf16 (gpu_bench keeps fp32
          parameters and adds to gradients in fp32). Packed rows by the fastest that works here: varlen_attn, compiled
          flex_attention, scaled_dot_product_attention under a mask; the answer's "note" says which
  lm      fp32 parameters under bf16 autocast, fused AdamW, as one trains; "parameters": "bf16" keeps parameters, gradients
          and AdamW's states in bf16, which is faster and another training. "compile": "blocks" compiles each block
          and the head by themselves, where a whole network would take minutes; else it is one graph with its loss
  resnet  torchvision's, channels-last, fp32 parameters under bf16 autocast, fused SGD, cuDNN's own search for
          algorithms (gpu_bench chooses them by shape)
  amoebanet  bench/peers/amoebanet.py, the rest as for resnet; "compile": "blocks" compiles every cell by itself, which
          takes minutes; "never" does not in any mode
Peak memory is that of iterations after the first, without what compilers and searches have taken.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional
from torch_networks import Block, LanguageModel, packed_attention


def compiled(module, mode):
    return module if mode == "eager" else torch.compile(module, mode=mode)


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def fused(device):
    return {"fused": True} if device == "cuda" else {}


class Product:
    def __init__(self, request, device):
        size = request["size"]
        self.x = torch.rand(size, size, device=device, dtype=torch.bfloat16) * 2 - 1
        self.w = torch.rand(size, size, device=device, dtype=torch.bfloat16) * 2 - 1
        self.y = torch.empty(size, size, device=device, dtype=torch.bfloat16)
        self.parameters = size**2

    def prepare(self):
        pass

    def iterate(self):
        torch.matmul(self.x, self.w.t(), out=self.y)


class Blocks:
    def __init__(self, request, device):
        width, heads, tokens, batch = request["width"], request["heads"], request["sequence"], request["batch"]
        kv_heads, dropout = request.get("kv_heads", heads), request.get("dropout", 0.0)
        shape = (batch, tokens, width)
        attend = None
        if "packed" in request:
            attend, self.note = packed_attention(request, device)
        blocks = nn.Sequential(*(Block(width, heads, kv_heads, dropout, attend) for _ in range(request["blocks"])))
        self.parameters = count(blocks)
        self.run = compiled(blocks.to(device=device, dtype=torch.bfloat16), request["mode"])
        self.x = torch.randn(shape, device=device, dtype=torch.bfloat16).requires_grad_()
        self.gradient = torch.randn(shape, device=device, dtype=torch.bfloat16)

    def prepare(self):
        self.x.grad = None

    def iterate(self):
        self.run(self.x).backward(self.gradient)


class Step:
    """A training step: the gradients of all micro-batches, and an update."""

    def __init__(self, request, device, model, loss, optimizer):
        self.device, self.loss, self.optimizer = device, loss, optimizer
        self.parameters = count(model)
        self.autocast = request.get("parameters", "fp32") == "fp32"
        self.micro_batches = request.get("micro_batches", 1)

    def prepare(self):
        pass

    def iterate(self):
        self.optimizer.zero_grad(set_to_none=True)
        for _ in range(self.micro_batches):
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.autocast):
                loss = self.loss()
            (loss / self.micro_batches if self.micro_batches > 1 else loss).backward()
        self.optimizer.step()


def language_model(request, device):
    context, vocabulary, batch = request["context"], request["vocabulary"], request["batch"]
    model = LanguageModel(request["layers"], request["width"], request["heads"], context, vocabulary).to(device)
    if request.get("parameters") == "bf16":
        model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, **fused(device))
    if request.get("compile") == "blocks" and request["mode"] != "eager":
        for part in (*model.blocks, model.head):
            part.compile(mode=request["mode"])
        run = model
    else:
        run = compiled(model, request["mode"])
    tokens, labels = (torch.randint(0, vocabulary, (batch, context), device=device) for _ in range(2))
    return Step(request, device, model, lambda: run(tokens, labels), optimizer)


def image_step(request, device, model):
    model = model.to(device=device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, **fused(device))
    if request.get("compile") == "blocks" and request["mode"] != "eager":
        for part in model:  # of shapes of its own each
            part.compile(mode=request["mode"], dynamic=False)
        run = model
    else:
        run = compiled(model, "eager" if request.get("compile") == "never" else request["mode"])
    shape = (request["batch"], 3, request["size"], request["size"])
    images = torch.randn(shape, device=device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (request["batch"],), device=device)
    return Step(request, device, model, lambda: functional.cross_entropy(run(images), labels), optimizer)


def resnet(request, device):
    import torchvision

    return image_step(request, device, getattr(torchvision.models, f"resnet{request['depth']}")())


def amoebanet(request, device):
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
    import amoebanet as network

    torch._dynamo.config.recompile_limit = 64  # every stage has cells of a shape of its own
    cells = network.layers({"layers": request["layers"], "filters": request["filters"], "classes": 1000})
    return image_step(request, device, nn.Sequential(*cells))


WORKLOADS = {"matmul": Product, "blocks": Blocks, "lm": language_model, "resnet": resnet, "amoebanet": amoebanet}


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
        ms = self.timed(iterations)
        peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else 0
        return {"ms": ms, "parameters": self.workload.parameters, "peak_bytes": peak,
                "note": getattr(self.workload, "note", "")}

    def set_up(self, request):
        self.workload, self.known = None, None
        torch._dynamo.reset()
        if self.device == "cuda":
            torch.cuda.empty_cache()
        self.workload = WORKLOADS[request["what"]](request, self.device)
        self.known = request
        for _ in range(4):  # the first ones compile
            self.workload.prepare()
            self.workload.iterate()
        self.synchronize()
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

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
