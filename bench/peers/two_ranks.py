"""Two processes, one thread each: torch.distributed.pipelining over gloo, its stages eager or compiled.

Its argument is a row of compare.py as JSON. Rank 0 starts rank 1. Both wait for commands asleep.
"""

import json
import os
import socket
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.nn import functional as F

import meter
import networks


def start_ranks():
    """Rank 0 becomes two processes; returns the rank of the one that goes on here."""
    if "RANK" in os.environ:
        return int(os.environ["RANK"]), None
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE="2")
    other = subprocess.Popen(
        [sys.executable, *sys.argv], env={**os.environ, "RANK": "1"}, stdin=subprocess.DEVNULL
    )
    os.environ["RANK"] = "0"
    return 0, other


def main():
    spec = json.loads(sys.argv[1])
    rank, other = start_ranks()
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    before = meter.own_memory()
    layers = networks.make_layers(spec)
    cut = spec["split"][0]
    module = nn.Sequential(*(layers[:cut] if rank == 0 else layers[cut:]))
    optimizer = networks.make_optimizer(spec, module.parameters())
    if spec["mode"] == "compiled":
        module = torch.compile(module)
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    micro_batches = spec["micro_batches"]

    def loss_of(logits, labels):
        return F.cross_entropy(logits, labels.flatten())

    kind = ScheduleGPipe if spec["schedule"] == "gpipe" else Schedule1F1B
    schedule = kind(stage, micro_batches, loss_fn=loss_of)
    generator = torch.Generator().manual_seed(2)
    samples = micro_batches * spec["micro_batch_size"]

    def step():
        inputs, labels = networks.make_batch(spec, samples, generator)
        if rank == 0:
            schedule.step(inputs)
        else:
            schedule.step(target=labels.view(samples, -1), losses=[])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def serve(count):
        wall, cpu = meter.measure(step, count, dist.barrier)
        numbers = torch.tensor([meter.largest_own_memory() - before, *cpu], dtype=torch.float64)
        dist.all_reduce(numbers)
        return wall, numbers[1:].tolist(), float(numbers[0])

    first = True
    command = torch.zeros(1, dtype=torch.int64)
    lines = meter.commands() if rank == 0 else None
    while True:
        if rank == 0:
            command[0] = next(lines, 0)
        dist.broadcast(command, 0)
        if int(command) == 0:
            break
        wall, cpu, rss = serve(int(command))
        if rank == 0:
            meter.answer(wall, cpu, rss, 0.0)
        if first:
            meter.forget_largest()
        first = False
    dist.destroy_process_group()
    if other is not None:
        other.wait()


main()
