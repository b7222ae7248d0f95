#!/usr/bin/env python3
"""Ten mutations of the core, one a room: is each found by what CI runs? In a worktree of its own, build/mutations/tree, of HEAD,
without CUDA. A first run builds all of it, then each mutation its room and what links it; tests stop at the first that fails.

usage: mutations.py [ROOM ...]    e.g. mutations.py stage comm; without: all ten

Exit code: 0 when all were found, 1 when one was not, or no longer fits the sources.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "mutations" / "tree"
MUTATIONS = {  # room: file, what stands there once, what is put in its place
    "kernels": ("kernels/cpu/update.cpp", "1.0 / (1.0 - std::pow(double{step.beta2}, steps))",
                "1.0 / (1.0 - std::pow(double{step.beta1}, steps))"),
    "autograd": ("runtime/network/autograd/pointwise_functions.cpp", "scale(dx, g, factor_)", "scale(dx, g, 1.0F)"),
    "layers": ("runtime/network/layers/container.cpp", "{f_ ? activation(context.tape, sum, *f_) : sum}", "{sum}"),
    "optimizer": ("runtime/network/optimizer/clip.cpp", "limit / norm : 1.0", "norm / limit : 1.0"),
    "data": ("runtime/data/datasets/sampler.cpp", "static_cast<uint64_t>(epoch)", "static_cast<uint64_t>(epoch / 2)"),
    "checkpoint": ("runtime/records/checkpoint/format/safetensors_header.cpp", "if (tensor_.end < tensor_.begin)", "if (false)"),
    "schedule": ("runtime/planning/schedule/generators/generators.cpp", "lead * (stages - 1 - r)", "lead * (stages - r)"),
    "stage": ("runtime/network/stage/pairwise_sum.cpp", "if ((done_ >> level & 1) == 0) continue;", "if (level > 0) continue;"),
    "pipeline": ("runtime/engine/pipeline/tied_gradients.cpp", "for (size_t i = 1; i < tie.size(); ++i) ops.accumulate",
                 "for (size_t i = 2; i < tie.size(); ++i) ops.accumulate"),
    "comm": ("runtime/system/comm/mpi/mpi_reduce.cpp", "for (int64_t i = 0; i < n; ++i) sum[i] += values[i];",
             "for (int64_t i = 1; i < n; ++i) sum[i] += values[i];"),
}


def call(*command):
    """(exit code, output)"""
    done = subprocess.run([str(word) for word in command], cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def prepare():
    subprocess.run(["git", "-C", str(ROOT), "worktree", "prune"], check=True)
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    if TREE.exists():
        subprocess.run(["git", "-C", str(TREE), "checkout", "--quiet", "--force", "--detach", head], check=True)
    else:
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(TREE), head], check=True)
    for command in (["cmake", "--preset", "release", "-DPENSTOCK_CUDA=OFF", "-DPENSTOCK_WERROR=ON"],
                    ["cmake", "--build", "--preset", "release"]):
        code, said = call(*command)
        if code != 0:
            sys.exit("mutations.py: the tree as it is does not build:\n" + said[-2000:])


def finder(room):
    """What finds the mutation that is in the tree: the compiler, a test, or nothing ("")."""
    code, said = call("cmake", "--build", "--preset", "release")
    if code != 0:
        return "the compiler: " + next((line for line in said.splitlines() if "error" in line), "?")
    for chosen in (["-L", "^unit$", "-R", f"^{room}"], ["-L", "^unit$"], ["-L", "distributed"]):
        _, said = call("launch/test.sh", "--no-build", "--", "--stop-on-failure", "--no-tests=ignore", *chosen)
        failed = re.findall(r"^\[  FAILED  \] ([^ ,]+)", said, re.MULTILINE) or re.findall(r"- (\S+) \((?:Failed|Timeout|SEGF)", said)
        if failed:
            return failed[0]
    return ""


def main():
    rooms = sys.argv[1:] or list(MUTATIONS)
    if any(room not in MUTATIONS for room in rooms):
        sys.exit(__doc__)
    prepare()
    missed = 0
    for room in rooms:
        name, text, mutant = MUTATIONS[room]
        file = TREE / name
        source = file.read_text()
        if source.count(text) != 1:
            print(f"{room:10}  {name} has no longer one place with: {text}", flush=True)
            missed += 1
            continue
        file.write_text(source.replace(text, mutant))
        try:
            found = finder(room)
        finally:
            file.write_text(source)
        missed += not found
        print(f"{room:10}  {'found by ' + found if found else 'NOT FOUND'}: {text} -> {mutant}", flush=True)
    print(f"{len(rooms) - missed} of {len(rooms)} found")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
