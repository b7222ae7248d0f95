"""What the drivers beside it share: run files, jobs of the program under mpirun, and what a run directory says apart from times."""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Of a line of metrics.jsonl: what belongs to the machine and the attempt, not to the training.
TIMES = {"attempt", "seconds", "step_ms", "data_wait_ms", "throughput", "tokens_per_s", "tflops", "mfu", "peak_tflops"}
# ... and whether an update was made too early, which changes nothing.
EARLY = {"rolled_back"}
# Of state.json: which run it was, and how it was cut.
OWN_STATE = {"run", "configuration"}
LIMIT_S = 240  # of a job; it takes about a second, on busy cores a hundred times as long
ENVIRONMENT = {  # that of tests/CMakeLists.txt, for whoever starts a driver by hand
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
    "GOMP_SPINCOUNT": "300",
}


# Open MPI 4.1: of a rank that is killed while MPI starts its mpirun at times never hears, or dies of a pipe that nobody reads. An mpirun
# that is asked to end its ranks itself dies so, too, or of a fault in its own memory; a rank's would be the exit code 139.
STUCK, STUCK_S = "mpirun is stuck", 10
FAULTS_OF_LAUNCHER = {STUCK, -signal.SIGPIPE}
FAULTS_OF_ENDING_LAUNCHER = {-signal.SIGPIPE, -signal.SIGSEGV}


class Difference(Exception):
    """Something that is not as promised; says what."""


def require(ok, what):
    if not ok:
        raise Difference(what)


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)


def toml(sections):
    """A run file of {section: {key: value}}."""
    return "".join(f"[{name}]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in keys.items())
                   for name, keys in sections.items() if keys)


def children(process):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def has_ended(process):
    """Also where nobody has asked for its exit code yet."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def has_ranks(job):
    return not all(map(has_ended, children(job.pid)))


class Program:
    """penstock under mpirun; all that it leaves behind is in `folder`."""

    def __init__(self, ranks_script, penstock, folder):
        self.ranks_script, self.penstock, self.folder = ranks_script, penstock, folder
        self.environment = {**ENVIRONMENT, **os.environ, "XDG_CACHE_HOME": str(folder / "cache"),
                            "OMPI_MCA_orte_tmpdir_base": str(folder / "sessions")}

    def start(self, ranks, words, output):
        """A job whose output, of all ranks, goes to that file; in a process group of its own."""
        with output.open("w") as out:
            return subprocess.Popen([self.ranks_script, "-q", "-n", str(ranks), self.penstock, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)

    def end(self, job):
        """Its exit code, once it has ended by itself; STUCK for an mpirun that does not, although its ranks have."""
        end = time.monotonic() + LIMIT_S
        alive = time.monotonic()  # when a rank last was
        try:
            while job.poll() is None:
                now = time.monotonic()
                alive = now if has_ranks(job) else alive
                require(now < end, f"the job hangs: no end within {LIMIT_S} s")
                if now > alive + STUCK_S:
                    return STUCK
                time.sleep(0.005)
            return job.returncode
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()

    def run(self, ranks, words):
        """(exit code, output) of a job that nobody disturbs."""
        output = self.folder / "output"
        code = self.end(self.start(ranks, words, output))
        return code, output.read_text(errors="replace")

    def alone(self, *words):
        """(exit code, output) without mpirun."""
        done = subprocess.run([str(self.penstock), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.environment, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr

    def layers(self, run_file, *options):
        """How many the network of a run file has, or the cause why there are none."""
        code, said = self.alone("inspect", run_file, "--json", *options)
        if code != 0:
            return None, cause(said)
        line = next(line for line in said.splitlines() if line.startswith("{"))
        return len(json.loads(line)["layers"]), ""

    def processes(self, directory):
        """The program's own that name that run directory, by the order of their ids."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if words[0] == os.fsencode(self.penstock) and os.fsencode(str(directory)) in words:
                    found.append(int(entry.name))
        return sorted(found)


def cause(output):
    """The error that a job ended with, without places and with N for every number: what several cases have in common."""
    for line in output.splitlines():
        _, found, text = line.partition("penstock: error: ")
        if found:
            return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"\S*/\S*", "PATH", text))
    return "no error line: " + " ".join(output.split())[-300:]


def untimed_lines(directory):
    """(attempt, line without times) of metrics.jsonl, every line of which must be whole."""
    lines = []
    path = directory / "metrics.jsonl"
    for text in path.read_text().splitlines() if path.exists() else []:
        line = json.loads(text)
        lines.append((line["attempt"], {key: value for key, value in line.items() if key not in TIMES | EARLY}))
    return lines


def last_line(directory):
    """Of metrics.jsonl, the last whole one; of step 0 where there is none."""
    try:
        with (directory / "metrics.jsonl").open("rb") as metrics:
            metrics.seek(max(0, metrics.seek(0, os.SEEK_END) - 2000))
            return json.loads(metrics.read().rpartition(b"\n")[0].splitlines()[-1])
    except (OSError, LookupError):
        return {"step": 0}


def counted_lines(directory):
    """Of each step, and of each evaluation, the line that counts, in the order of the file: that of the highest attempt."""
    lines = untimed_lines(directory)
    last = {}
    for attempt, line in lines:
        key = (line["step"], line.get("eval", False))
        require(last.get(key) != attempt, f"metrics.jsonl has two lines of {key} in attempt {attempt}")
        last[key] = attempt
    return [line for attempt, line in lines if last[line["step"], line.get("eval", False)] == attempt]


def compare_metrics(one, other):
    """Line by line; the first that differs is told."""
    for mine, theirs in zip(one, other):
        require(mine == theirs, f"metrics.jsonl: {mine} and {theirs}")
    require(len(one) == len(other), f"metrics.jsonl has {len(one)} lines and {len(other)}: the longer one ends with "
            f"{max(one, other, key=len)[-1:]}")


def compare_checkpoints(one, other):
    """Every byte of the tensors' files, their lists, and what else must not depend on the cut."""
    names = sorted(path.name for path in one.iterdir())
    others = sorted(path.name for path in other.iterdir())
    require(names == others, f"{one.name} has the files {names} and {others}")
    for name in names:
        if name == "state.json":
            mine, theirs = ({key: value for key, value in json.loads((folder / name).read_text()).items() if key not in OWN_STATE}
                            for folder in (one, other))
            require(mine == theirs, f"{one.name}/{name}: {mine} and {theirs}")
        elif name != "manifest.json":  # it has the checksum of state.json
            require((one / name).read_bytes() == (other / name).read_bytes(), f"{one.name}/{name} has other bytes")


def checkpoints(directory):
    folder = directory / "checkpoints"
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("step-")) if folder.exists() else []


class Driver:
    """A driver's command line, its cases by number, and what becomes of them.

    Case number N is drawn from N alone, so `--seed N --cases 1` repeats it.
    """

    def __init__(self, text):
        parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("ranks")
        parser.add_argument("penstock")
        parser.add_argument("--cases", type=int, default=0, help="how many; 0: as many as the minutes allow")
        parser.add_argument("--seed", type=int, default=1, help="number of the first case")
        parser.add_argument("--minutes", type=float, default=10, help="no case begins later than that")
        parser.add_argument("--keep", type=pathlib.Path, help="a folder for the files of cases that fail")
        parser.add_argument("--verbose", action="store_true", help="a line for every case")
        self.options = parser.parse_args()
        self.failures = 0
        self.counts = collections.Counter()
        self.causes = collections.Counter()

    def repeat(self, number):
        words = [sys.argv[0], self.options.ranks, self.options.penstock, "--seed", str(number), "--cases", "1"]
        return "python3 " + " ".join(map(shlex.quote, words))

    def once(self, case, number=0):
        """Calls case(number, program, folder), which gives what it was, in a folder of its own."""
        with tempfile.TemporaryDirectory(prefix="penstock-random-") as scratch:
            folder = pathlib.Path(scratch)
            (folder / "sessions").mkdir()
            began = time.monotonic()
            try:
                what = case(number, Program(self.options.ranks, self.options.penstock, folder), folder)
                if self.options.verbose:
                    print(f"case {number}, {time.monotonic() - began:.1f} s: {what}", flush=True)
            except (Difference, OSError, ValueError, LookupError) as difference:  # also a file that is not there or not whole
                self.failures += 1
                print(f"FAILED case {number}: {type(difference).__name__}: {difference}\n  repeat: {self.repeat(number)}", flush=True)
                if self.options.keep:
                    shutil.copytree(folder, self.options.keep / str(number), symlinks=True, dirs_exist_ok=True,
                                    ignore=shutil.ignore_patterns("sessions"))

    def run(self, case):
        """One number after the other; how many."""
        end = time.monotonic() + 60 * self.options.minutes
        first = number = self.options.seed
        print(f"cases from {first} on", flush=True)
        while time.monotonic() < end and (self.options.cases == 0 or number < first + self.options.cases):
            self.once(case, number)
            number += 1
        return number - first

    def refused(self, who, why, what):
        self.counts["refused"] += 1
        self.causes[f"refused, {who}: {why}"] += 1
        return f"refused, {who}: {why}: {what}"

    def tell_counts(self, cases):
        for text, count in self.causes.most_common():
            print(f"{count:6} x {text}")
        print(f"{cases} cases, {self.failures} failed: " + ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))
