#!/usr/bin/env python3
"""What a machine with several GPUs does with Penstock, on one page to send back: nobody here has had one.

usage: bench/gpu/several.py [--program build/release/bin/penstock] [--gpus N] [--out several.md] [--steps N] [--limit SECONDS]
                            [--toy]

  --gpus N      ranks, one GPU each [as many as nvidia-smi lists]
  --out FILE    the page [several.md]; metrics and logs lie beside it, in FILE.runs
  --steps N     of each training [30]; the first ten are not counted
  --limit S     for one training, which is killed then [300]
  --toy         a network that a CPU could train: tries the script, over the emulation too

The page has: GPUs, how they are wired (nvidia-smi topo), driver, `penstock info`; links as `penstock profile` measures
them; and the same training of the same 32 micro-batches by 1 to N stages, by replicas, by every link that works, by
several schedules, and with multiprocessors spared for messages. A training whose losses and gradient norms are not those
of one stage, bit for bit, is called OTHER BITS, and one that fails or is refused shows what was said. Held against each other are
rows with as many replicas, whose sums are in one order, and as many spared multiprocessors, which choose the products.

Takes some ten minutes on 8 GPUs. Exit codes: 0 all trained and agreed; 1 something failed or differed; 2 bad usage.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MICRO_BATCHES = 32
REFUSED = 2  # what this machine cannot do, such as mpi-cuda with an MPI that reads no GPU memory
SKIPPED = 10  # steps in which plans are made and graphs captured
NETWORK = {"layers": 24, "width": 2048, "heads": 16, "hidden": 8192, "context": 1024, "vocabulary": 32000}
TOY_NETWORK = {"layers": 2, "width": 16, "heads": 2, "hidden": 24, "context": 9, "vocabulary": 20}
RUN_FILE = """\
[model]
kind = "transformer-lm"
{sizes}
dropout = 0.1
activation = "gelu-tanh"
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
clip_norm = 1.0
[pipeline]
micro_batch_size = 1
[checkpoint]
last = false
[run]
precision = "bf16"
threads = 1
trace = 0
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/penstock"))
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--out", default="several.md")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args()
    options.gpus = options.gpus or len(output(["nvidia-smi", "-L"]).splitlines())
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no {options.program}: build it (launch/setup.sh), or name it by --program")
    if options.gpus < 1:
        parser.error("nvidia-smi lists no GPU; --gpus N says how many there are")
    return options


def output(command):
    """What a command prints; nothing where there is no such command."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace").stdout.strip()


def mpirun(ranks):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


class Trainings:
    """Trains the same network in many ways, and holds each against the first of its kind."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.out + ".runs")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.file = self.folder / "run.toml"
        sizes = TOY_NETWORK if options.toy else NETWORK
        self.file.write_text(RUN_FILE.format(sizes="\n".join(f"{key} = {value}" for key, value in sizes.items())))
        self.firsts = {}  # by what may change bits, replicas and spared multiprocessors: steps of the first training with so many
        self.first_ms = None
        self.failed = False

    def train(self, stages, replicas=1, link="auto", schedule="1f1b", spare=0):
        """A row of the table."""
        name = f"K{stages}-D{replicas}-{link}-{schedule}-spare{spare}"
        ranks, out, log = stages * replicas, self.folder / name, self.folder / f"{name}.log"
        command = [*mpirun(ranks), self.options.program, "train", str(self.file), "--device", "cuda",
                   "--stages", str(stages), "--replicas", str(replicas),
                   "--pipeline.micro_batches", str(MICRO_BATCHES // replicas), "--schedule", schedule, "--link", link,
                   "--run.spare_processors", str(spare), "--steps", str(self.options.steps), "--out", str(out)]
        try:
            with open(log, "w") as to:
                code = subprocess.run(command, stdout=to, stderr=subprocess.STDOUT, timeout=self.options.limit).returncode
        except subprocess.TimeoutExpired:
            code = "killed at its limit"
        cells = [str(stages), str(replicas), link, schedule, str(spare)]
        if code != 0:
            self.failed = self.failed or code != REFUSED
            lines = log.read_text(errors="replace").strip().splitlines()
            said = next((line for line in lines if "penstock" in line and "error" in line), lines[-1] if lines else "")
            return cells + ["-", "-", "-", "-", ("refused: " if code == REFUSED else f"code {code}: ") + said.replace("|", "/")]
        return cells + self.figures(out, (replicas, spare))

    def figures(self, out, kind):
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        steps = [line for line in lines if "loss" in line and "step_ms" in line]
        bits = [(line["loss"], line["grad_norm"]) for line in steps]
        agrees = bits == self.firsts.setdefault(kind, bits)
        self.failed = self.failed or not agrees
        ms = statistics.median(line["step_ms"] for line in steps[min(SKIPPED, len(steps) - 1):])
        self.first_ms = self.first_ms or ms
        bubble = json.loads((out / "summary.json").read_text())["bubble"]
        return [f"{ms:.2f}", f"{self.first_ms / ms:.2f}", f"{1e3 * steps[-1]['tokens'] / ms:,.0f}",
                f"{bubble['measured']:.1%} / {bubble['predicted']:.1%}", "the same bits" if agrees else "OTHER BITS"]


def rows_of(gpus):
    """The trainings, by how much they tell: pipelines, replicas, both, links, schedules, spared multiprocessors."""
    powers = [n for n in (1, 2, 4, 8, 16) if n <= gpus]
    most = powers[-1]
    rows = [{"stages": n} for n in powers]
    rows += [{"stages": k, "replicas": d} for d in powers[1:] for k in sorted({1, most // d})]
    if most == 1:
        return rows
    rows += [{"stages": most, "link": link} for link in ("mpi-staged", "mpi-cuda")]
    rows += [{"stages": most, "schedule": name} for name in ("gpipe", "zb-h1")]
    rows += [{"stages": 1, "replicas": most, "spare": spare} for spare in (8, 16, 32)]
    return rows


HEADING = ["K", "D", "link", "schedule", "spared", "step ms", "times the first", "tokens/s", "bubble measured / predicted", "result"]


def table(rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [HEADING, ["---"] * len(HEADING), *rows])


def fenced(text):
    return f"```\n{text}\n```" if text else "(nothing)"


def main():
    options = parse()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    trainings = Trainings(options)
    profile = ["--profile-out", str(trainings.folder / "profile.json"), "--device", "cuda"]
    page = ["# Penstock on several GPUs\n", "## The machine\n", fenced(output(["nvidia-smi", "-L"])),
            fenced(output(["nvidia-smi", "topo", "-m"])),
            fenced(output(["nvidia-smi", "--query-gpu=driver_version,memory.total,pcie.link.gen.max", "--format=csv"])),
            fenced(output(["mpirun", "--version"])), fenced(output([options.program, "info"])), "## Links\n",
            fenced(output([*mpirun(min(2, options.gpus)), options.program, "profile", str(trainings.file), *profile])),
            "## Trainings\n", f"{MICRO_BATCHES} micro-batches of one sample a step, {options.steps} steps, bf16, dropout 0.1.\n"]
    rows = []
    for row in rows_of(options.gpus):
        rows.append(trainings.train(**row))
        print("  ".join(rows[-1]), flush=True)
        pathlib.Path(options.out).write_text("\n".join([*page, table(rows), ""]))  # what there is, should this be cut off
    print(f"several.py: {options.out} is what to send back" + ("; not all of it went well" if trainings.failed else ""))
    return 1 if trainings.failed else 0


if __name__ == "__main__":
    sys.exit(main())
