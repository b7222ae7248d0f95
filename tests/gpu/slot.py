#!/usr/bin/env python3
"""Runs what takes a GPU, part by part, each with a time limit and with results that survive being cut off.

usage: tests/gpu/run.sh [--only PART]... [--rehearse [--short]] [--no-build] [--tree DIR] [--filter PATTERN]
                        [--rows PATTERN] [--modes MODE,...]

A GPU is often lent for minutes: a command is killed at its limit, and only what lies in $OUT comes home. So every
part is a command of its own (--only build, then --only smoke, ...; the build folder is kept), which leaves in $OUT

  PART.txt     what there is to know, in a page
  PART.tar.gz  that page, a record.json, and every log and table

written anew every few seconds: a part that is killed leaves what it had found until then, and says UNFINISHED.
At home, bench/gpu/record.py OUT puts the pages into bench/gpu/RESULTS.md.

Parts, in the order of what they are worth (default: all of them, one after the other):
PARTS
  --rehearse   the same on a machine without a GPU: with the CUDA runtime and its libraries emulated, at toy sizes
  --short      of a rehearsal: a few tests of each part
  --no-build   take the build folder as it is
  --packed     the same, said by run.sh where it unpacked what tests/gpu/pack.py made
  --tree DIR   the build folder [build/gpu, of a rehearsal build/gpu-rehearsal]
  --filter P   only the tests whose names match, as of --gtest_filter, in smoke, ops and runs
  --rows P, --modes M   of blocks: only these rows, and PyTorch in these modes, as of bench/gpu/run.py

Environment: OUT (build/gpu-results), PENSTOCK_SECONDS (the limit of the whole command: 540; a part gets at most its
own limit and what is left), PENSTOCK_JOBS (compilers at a time: one a core).

Exit codes: 0 all passed; 1 a part failed or ran out of time; 2 bad usage; 77 there is no GPU, and nothing failed.
"""
import argparse
import ctypes
import datetime
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_GPU = 77
OUT_OF_TIME = 124
PACK_SECONDS = 4.0  # between two writings of what there is
LOG_BYTES = 4 << 20  # of a file that comes home, from its end: more than bench.json, which is of no use cut
QUOTED_BYTES = 16000  # of a log that is shown in the page


class Interrupted(Exception):
    """Somebody asked us to stop."""


class Part:
    """One part while it runs: its folder of logs, its page, and the two files in $OUT."""

    def __init__(self, name, limit_s, slot):
        self.name = name
        self.slot = slot
        self.started = time.monotonic()
        # What is emulated is no GPU, and shares its cores with other tests.
        self.deadline = min(self.started + limit_s * (3 if slot.rehearse else 1), slot.deadline)
        self.state = "UNFINISHED: cut off"
        self.lines, self.quoted = [], []
        self.folder = slot.tree / "slot" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.packed = 0.0
        self.pack()

    def say(self, line):
        self.lines.append(line)
        print(f"   {line}", flush=True)

    def quote(self, log):
        """Shows a log in the page, as far as it has come."""
        self.quoted.append(self.folder / f"{log}.log")

    def seconds_left(self):
        return max(1.0, self.deadline - time.monotonic())

    def run(self, name, command, environment=None):
        """The exit code of the command, with its talk in NAME.log; 124 when the part's time is over."""
        return self.run_all([(name, command, environment)])[0]

    def run_all(self, commands):
        """The same for [(name, command, environment)], side by side."""
        running = [self.start(*command) for command in commands]
        try:
            while any(process.poll() is None for process in running) and time.monotonic() < self.deadline:
                time.sleep(0.05)
                self.pack(at_least=PACK_SECONDS)
            return [process.poll() if process.poll() is not None else OUT_OF_TIME for process in running]
        finally:
            end(running)
            self.pack()

    def start(self, name, command, environment):
        with open(self.folder / f"{name}.log", "wb") as log:
            log.write(f"$ {' '.join(str(word) for word in command)}\n".encode())
            log.flush()
            return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=subprocess.STDOUT, cwd=ROOT, env=self.slot.environment(environment))

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def page(self):
        device = f" on {self.slot.device}" if self.slot.device else ""
        text = [f"{self.name}: {self.state}, {time.monotonic() - self.started:.0f} s{device}, {self.slot.date}"]
        text += self.lines
        for log in self.quoted:
            if log.exists():
                text.append(tail(log, QUOTED_BYTES).decode(errors="replace").rstrip())
        return "\n".join(text) + "\n"

    def pack(self, at_least=0.0):
        """Writes both files, each complete or not at all."""
        if time.monotonic() - self.packed < at_least:
            return
        page = self.page()
        record = {"part": self.name, "state": self.state, "seconds": round(time.monotonic() - self.started, 1),
                  "device": self.slot.device, "date": self.slot.date, "emulated": self.slot.rehearse}
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=6) as tar:
            add(tar, f"{self.name}/page.txt", page.encode())
            add(tar, f"{self.name}/record.json", json.dumps(record, indent=1).encode())
            for path in sorted(self.folder.iterdir()):
                if path.is_file():
                    add(tar, f"{self.name}/{path.name}", tail(path, LOG_BYTES))
        write_whole(self.slot.out / f"{self.name}.txt", page.encode())
        write_whole(self.slot.out / f"{self.name}.tar.gz", archive.getvalue())
        self.packed = time.monotonic()


def adopt_orphans():
    """Makes us the parent of whatever our commands leave behind, so that end() finds it (Linux, prctl(2))."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def descendants():
    """Process ids of all that we started and that those started, whatever group or session they are in."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, parents = [], [os.getpid()]
    while parents:
        parents = [child for parent in parents for child in children.get(parent, [])]
        found += parents
    return found


def end(commands):
    """Kills what is left of the commands, with all that they started: ranks, and what `timeout` puts into groups of its own."""
    for process in commands:
        if process.poll() is None:
            process.kill()
        process.wait()
    while left := descendants():
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def tail(path, size):
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read()


def add(tar, name, content):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = len(content), int(time.time())
    tar.addfile(entry, io.BytesIO(content))


def write_whole(path, content):
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    os.replace(new, path)


class Slot:
    """The command: where things are, and how much time there is."""

    def __init__(self, options):
        self.rehearse, self.short, self.filter = options.rehearse, options.short, options.filter
        self.rows, self.modes = options.rows, options.modes
        self.tree = pathlib.Path(options.tree or ROOT / "build" / ("gpu-rehearsal" if self.rehearse else "gpu")).resolve()
        self.out = pathlib.Path(os.environ.get("OUT", ROOT / "build" / "gpu-results")).resolve()
        self.deadline = time.monotonic() + float(os.environ.get("PENSTOCK_SECONDS", 540))
        self.date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        self.device, self.no_gpu = "", ""
        self.out.mkdir(parents=True, exist_ok=True)
        self.tree.mkdir(parents=True, exist_ok=True)

    def program(self, name):
        """Of the build folder; a rehearsal has the same ones over the emulation."""
        emulated = {"penstock": "penstock_host_cuda", "gpu_nccl_test": "host_gpu_nccl_test"}
        if self.rehearse:
            name = emulated.get(name, "host_" + name.removeprefix("gpu_") if name.endswith("_test") else "host_" + name)
        return self.tree / "bin" / name

    def environment(self, more):
        """For our programs: with our libraries, and for ranks on one host."""
        variables = dict(os.environ)
        variables["LD_LIBRARY_PATH"] = variables.get("PENSTOCK_LD_LIBRARY_PATH", variables.get("LD_LIBRARY_PATH", ""))
        variables.update({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"})
        if self.rehearse:  # fused attention is cut at the tests' sizes, too
            variables["PENSTOCK_HOST_CUDNN_WORKSPACE"] = "40000"
        variables.update(more or {})
        return variables

    def look_for_gpu(self):
        """Sets `device`, or `no_gpu` to the reason why there is none."""
        asked = subprocess.run([str(self.program("gpu_bench"))], input=b'{"what": "about"}\n', capture_output=True, check=False,
                               env=self.environment(None))
        try:
            self.device = json.loads(asked.stdout)["device"]
        except (ValueError, KeyError):
            self.no_gpu = (asked.stderr or asked.stdout).decode(errors="replace").strip() or "gpu_bench says nothing"


def run_part(name, limit_s, function, slot):
    """One line of the summary, and the part's exit code."""
    print(f"== {name}", flush=True)
    part = Part(name, limit_s, slot)
    code = 1
    try:
        if slot.no_gpu:
            part.say(slot.no_gpu)
            code = NO_GPU
        elif time.monotonic() >= slot.deadline:
            part.say("no time left")
            code = OUT_OF_TIME
        else:
            code = function(part)
        part.state = {0: "passed", NO_GPU: "skipped: no GPU", OUT_OF_TIME: "failed: out of time"}.get(code, "failed")
    except Interrupted:
        part.state = "UNFINISHED: stopped"
        raise
    except Exception as error:  # a part that trips must not take the others with it
        part.say(f"{type(error).__name__}: {error}")
        part.state = "failed"
    finally:
        part.pack()
    seconds = time.monotonic() - part.started
    return f"{name:12} {seconds:5.0f} s  {part.state}", code


def main():
    from parts import PARTS

    listed = "".join(f"  {name:12} at most {limit // 60:2d} min: {about}\n" for name, limit, about, _ in PARTS)
    parser = argparse.ArgumentParser(prog="tests/gpu/run.sh", description=__doc__.replace("PARTS\n", listed),
                                     formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS,
                                     add_help=False)
    parser.add_argument("--help", "-h", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--only", action="append", default=[], help=argparse.SUPPRESS)
    for flag in ("--rehearse", "--short", "--no-build", "--packed"):
        parser.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    for value in ("--tree", "--filter", "--rows", "--modes"):
        parser.add_argument(value, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [name for name, *_ in PARTS]
    unknown = [name for name in options.only if name not in names]
    if unknown:
        parser.exit(2, f"run.sh: there is no part '{unknown[0]}': {' '.join(names)}\n")
    wanted = [part for part in PARTS if part[0] in (options.only or names) and not (part[0] == "build" and (options.no_build or options.packed))]

    def stop(_signal, _frame):
        raise Interrupted

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    adopt_orphans()
    slot = Slot(options)
    summary, codes = [], []
    try:
        for name, limit_s, _, function in wanted:
            if name != "build" and not slot.device and not slot.no_gpu:
                slot.look_for_gpu()
            line, code = run_part(name, limit_s, function, slot)
            summary.append(line)
            codes.append(code)
            if name == "build" and code != 0:
                break
    except Interrupted:
        codes.append(1)
        summary.append("stopped")
    print(f"\n== {slot.device or 'no GPU'}, results in {slot.out}\n" + "\n".join(summary), flush=True)
    return 1 if any(code not in (0, NO_GPU) for code in codes) else NO_GPU if NO_GPU in codes else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    sys.modules["slot"] = sys.modules["__main__"]
    sys.exit(main())
