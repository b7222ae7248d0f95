"""Seconds and memory of a peer's steps, and the conversation with compare.py (see step_bench.cpp)."""

import json
import resource
import sys
import time


def resident(key):
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(key):
                return 1024.0 * float(line.split()[1])
    return 0.0


def own_memory():
    """Resident bytes that are neither a file's (libraries) nor shared."""
    return resident("RssAnon:")


def largest_own_memory():
    return resident("VmHWM:") - resident("RssFile:") - resident("RssShmem:")


def forget_largest():
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def cpu_seconds():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def measure(step, count, barrier=lambda: None):
    """Wall and CPU seconds of each of `count` steps in this process."""
    wall, cpu = [], []
    for _ in range(count):
        barrier()
        start, spent = time.perf_counter(), cpu_seconds()
        step()
        barrier()
        wall.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - spent)
    return wall, cpu


def answer(wall, cpu, rss, loss):
    print(json.dumps({"wall": wall, "cpu": cpu, "rss": rss, "loss": loss}), flush=True)


def commands():
    """Yields N for each line "measure N" until "quit" or the end."""
    for line in sys.stdin:
        words = line.split()
        if not words or words[0] == "quit":
            return
        yield int(words[1])
