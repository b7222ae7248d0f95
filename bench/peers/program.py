"""Programs that are compared: each is started once, sleeps, and takes a few steps when asked."""

import json
import os
import statistics
import subprocess
from pathlib import Path

import specs

HERE = Path(__file__).resolve().parent
DEFAULTS = HERE / "defaults.toml"  # our run file: each row gives what it sets as options

# What a peer's memory comes from; the fastest counts. Ours keeps its memory, in huge pages. The tuned one gives glibc's both:
# huge pages, and nothing returned to the system between steps.
ALLOCATORS = {
    "plain": {},
    "tuned": {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:"
        "glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=67108864"
    },
}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def on_cores(spec):
    """As many cores for a program of one rank as it has threads: readers of data and compilers find no other."""
    cores = sorted(os.sched_getaffinity(0))[: specs.threads_of(spec)]
    return ["taskset", "-c", ",".join(map(str, cores))]


class Program:
    """One that answers "measure N" (step_bench.cpp, meter.py)."""

    def __init__(self, name, command, clock, environment=None):
        self.name, self.clock = name, clock
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT | (environment or {}),
        )
        self.seconds, self.rss, self.steps = [], 0.0, 1
        self.before_turn = lambda: None

    def ask(self, count):
        self.process.stdin.write(f"measure {count}\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: {self.process.stderr.read()[-600:]}")
        return json.loads(line)

    def measure(self, count):
        self.ask(count)
        return self.answer()

    def count_steps(self, seconds):
        """How many steps a turn has."""
        took = statistics.median(self.measure(3)["wall"])
        self.steps = max(1, min(50, round(seconds / took)))

    def turn(self):
        self.before_turn()
        answer = self.measure(self.steps)
        self.rss = max(self.rss, answer["rss"])
        self.seconds.append(statistics.median(answer[self.clock]))

    def quit(self):
        self.process.stdin.close()
        self.process.wait()


def take_turns(programs, arguments):
    """Warms all up, side by side since compiling takes long, has them measured in turn, and ends them."""
    try:
        for program in programs:
            program.ask(3)
        for program in programs:
            program.answer()
        for program in programs:
            program.count_steps(arguments.seconds)
        for _ in range(arguments.rounds):
            for program in programs:
                program.turn()
    finally:
        for program in programs:
            program.quit()


def flags(options):
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def ours(arguments, spec, options, ranks, mpirun=None, folder=None, name="ours"):
    """Our run of a spec with further options; `mpirun` with its arguments and the `folder` of programs, where not the usual ones."""
    command = [str((folder or arguments.bin) / "step_bench"), *flags(specs.options(spec) | options)]
    if ranks > 1:
        command = [*(mpirun or arguments.mpirun), "-n", str(ranks), *command]
    else:
        command = [*on_cores(spec), *command]
    return Program(name, command, arguments.clock)


def peers(arguments, row):
    python = str(arguments.peers / "bin" / "python")
    script = str(HERE / ("two_ranks.py" if row.ranks > 1 else "one_rank.py"))
    spec = row.spec | {"parameters": parameters(arguments, row.spec)}
    first = [] if row.ranks > 1 else on_cores(spec)
    return [
        Program(
            mode if allocator == "plain" else f"{mode}, {allocator} malloc",
            [*first, python, script, json.dumps(spec | {"mode": mode})],
            arguments.clock,
            ALLOCATORS[allocator] | {"OMP_NUM_THREADS": str(specs.threads_of(spec))},
        )
        for mode in arguments.modes
        for allocator in arguments.allocators
    ]


def parameters(arguments, spec):
    """Of our network."""
    return plan_of(arguments, spec, 1)["parameters"]


def plan_of(arguments, spec, ranks, *more):
    """What `penstock plan` says of a spec's network."""
    options = {key: value for key, value in specs.options(spec).items() if "model." in key or "data." in key}
    command = [str(arguments.bin / "penstock"), "plan", str(DEFAULTS), "--ranks", str(ranks), "--json"]
    return answers_of([*command, *flags(options), *more])[0]


def run_quietly(command):
    """What a program prints; RuntimeError where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stderr[-600:]}")
    return done.stdout


def answers_of(command):
    """The JSON objects, one a line, that a program prints."""
    return [json.loads(line) for line in run_quietly(command).splitlines() if line.startswith("{")]


def span(values):
    return f"{min(values):.2f}-{max(values):.2f}"
