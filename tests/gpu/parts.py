"""What each part of tests/gpu/run.sh does. A part is a function of slot.Part that returns an exit code: 0, 1, or slot.NO_GPU
or slot.OUT_OF_TIME. The programs are those of the build folder (Slot.program), which a rehearsal has over the emulation."""
import json
import os
import pathlib
import re
import shutil
import sys

from slot import NO_GPU, OUT_OF_TIME, ROOT

HERE = pathlib.Path(__file__).resolve().parent
CORES = os.cpu_count() or 1

# A test or two of each family of ops: what breaks everything breaks them.
ONE_OF_EACH_FAMILY = {
    "gpu_product_test": "*GpuDense.LinearForward/*:*GpuConvolution.Forward/*:*GpuAttention.ForwardAndBackward/*",
    "gpu_pass_test": "*GpuPointwise.Activations/*:*GpuNorm.LayerNormForwardAndBackward/*:*GpuNorm.BatchNormForwardAndBackward/*"
                     ":*GpuLayout.ConcatAndSplit/*:*GpuPool.ForwardAndBackward/*:*GpuToken.CrossEntropy/*:GpuUpdate.AdamAndAdamW",
}
# The ops that no GPU has run yet: the sanitizers, which have little time, look at these. Names leave the table when a slot
# has passed (bench/gpu/RESULTS.md, "Not yet measured").
NEW_SINCE_THE_LAST_SLOT = {
    "gpu_product_test": "*GpuAttention.Sinks/*:*GpuAttention.Rotary/*",
    "gpu_pass_test": "*GpuExperts.*:*GpuPool.Upsampling/*:GpuUpdate.Lion:GpuUpdate.Adafactor*:*GpuPointwise.ClampedGates/*"
                     ":*GpuLayout.Transpose*:*GpuToken.EmbeddingBackward*:*GpuToken.CrossEntropyOfPieces*",
}
# The program's own: of tests/gpu/smoke.toml, at a size for the emulation.
TOY = ["--model.width", 16, "--model.hidden", 24, "--model.layers", 2, "--model.context", 9, "--model.vocabulary", 20]


def build(part):
    """Compiles for the GPUs of this machine alone."""
    slot = part.slot
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    # Warnings of a compiler that nobody here has tried are no reason to measure nothing.
    options = ["-DPENSTOCK_CUDA=" + ("TOOLKIT" if slot.rehearse else "ON"), "-DPENSTOCK_TESTS=ON", "-DPENSTOCK_WERROR=OFF"]
    part.quote("found")
    code = part.run("configure", ["cmake", "-S", ROOT, "-B", slot.tree, "-G", generator, *options])
    found = [line for line in part.log("configure").splitlines() if line.startswith("-- Penstock: ")]
    (part.folder / "found.log").write_text("\n".join(found) + "\n")
    if code == 0:
        jobs = os.environ.get("PENSTOCK_JOBS", CORES)
        target = "gpu_rehearsal" if slot.rehearse else "gpu_slot"
        code = part.run("compile", ["cmake", "--build", slot.tree, "--parallel", jobs, "--target", target])
    if code != 0:
        part.quote("compile" if (part.folder / "compile.log").exists() else "configure")
    elif slot.rehearse and (slot.tree / "bin" / "penstock_real_cuda").exists():
        # What nvcc made and linked starts here, and says that there is no GPU.
        code = part.run("real", [slot.tree / "bin" / "penstock_real_cuda", "info"])
        part.say(f"the program of nvcc starts: exit code {code}")
    return code


def smoke(part):
    """In a minute: is anything broken that would make the rest worthless?"""
    codes = [part.run("info", [part.slot.program("penstock"), "info"])]
    part.quote("info")
    part.run("driver", ["nvidia-smi", "-q"] if shutil.which("nvidia-smi") else ["echo", "no nvidia-smi"])
    codes.append(part.run("copies", kernel_bench(part, "--only", "copy ")))
    part.quote("copies")
    codes += run_tests(part, ONE_OF_EACH_FAMILY, 1)
    codes.append(same_bits(part))
    return worst(codes)


def same_bits(part):
    """Trainings that must agree in every bit of loss and gradient norm (and so in the weights before the last step)."""
    kinds = [("once", 1, []), ("twice", 1, []), ("graphs off", 1, ["--run.graphs", "false"]),
             ("two ranks", 2, ["--stages", 2, "--link", "mpi-staged", "--allow-gpu-sharing"])]
    first, codes = None, []
    for precision in ("bf16", "fp32"):
        for kind, ranks, options in kinds:
            run = part.slot.tree / "slot" / "runs" / f"{precision}-{kind.replace(' ', '-')}"
            shutil.rmtree(run, ignore_errors=True)
            code = part.run(f"train-{run.name}", [
                "mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks, part.slot.program("penstock"), "train",
                HERE / "smoke.toml", "--device", "cuda", "--precision", precision, "--out", run, *options,
                *(TOY if part.slot.rehearse else []), *(["--steps", 3] if part.slot.short else [])])
            steps = bits_of(run) if code == 0 else []
            if kind == "once":
                first = steps
            agrees = bool(steps) and steps == first
            part.say(f"training in {precision}, {kind}: " +
                     (f"exit code {code}" if code else f"{len(steps)} steps, " + ("the same bits" if agrees else "OTHER BITS")))
            codes.append(code or (0 if agrees else 1))
    return worst(codes)


def bits_of(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(line["loss"], line["grad_norm"]) for line in lines if "loss" in line]


def ops(part):
    """Every op beside the CPU's, and NCCL with one rank."""
    tests = ONE_OF_EACH_FAMILY if part.slot.short else dict.fromkeys(ONE_OF_EACH_FAMILY, "*")
    return worst(run_tests(part, tests, max(1, min(4, CORES // 2))) + run_tests(part, {"gpu_nccl_test": "*"}, 1))


def kernels(part):
    """Each op's share of the measured copy bandwidth or of the peak, and what the libraries granted."""
    part.quote("queue")
    part.quote("kernels")
    commands = [20] if part.slot.rehearse else []
    return worst([part.run("queue", [part.slot.program("queue_bench"), *commands]),
                  part.run("kernels", kernel_bench(part, "--json", part.folder / "kernels.json"))])


def blocks(part):
    """Transformer blocks and whole steps of GPT-2 and ResNet beside PyTorch."""
    part.quote("bench")
    chosen = ["--toys", "--pairs", 2] if part.slot.rehearse else []
    modes = part.slot.modes or ("default" if part.slot.short else "")
    chosen += (["--modes", modes] if modes else []) + (["--rows", part.slot.rows] if part.slot.rows else [])
    budget = int(part.seconds_left() - (5 if part.slot.rehearse else 60))  # a row that was begun is finished
    return part.run("bench", [sys.executable, ROOT / "bench/gpu/run.py", "--ours", part.slot.program("gpu_bench"), "--out",
                              part.folder, "--budget", budget, *chosen], python_environment())


def largest(part):
    """The deepest Transformer-L that fits, and the peak that was predicted beside the one measured."""
    part.quote("largest")
    toy = ["--toy", "--memory", 6e6, "--reserve", 1e6] if part.slot.rehearse else []
    modes = ["--modes", "stage"] if part.slot.short else []
    return part.run("largest", [sys.executable, ROOT / "bench/gpu/largest.py", "--penstock", part.slot.program("penstock"),
                                "--out", part.slot.tree / "slot" / "runs", *toy, *modes], python_environment())


def runs(part):
    """Whole runs of the program: trajectories beside the CPU's, the same bits for every K, mode and schedule."""
    chosen = "*TwiceGivesTheSameBits/sequential*" if part.slot.short else "*"
    return worst(run_tests(part, {"gpu_training_test": chosen}, max(2, min(8, CORES // 2))))


def sanitizers(part):
    """The new ops and two trainings under compute-sanitizer; a rehearsal runs them without it."""
    commands = []
    variables = {"PENSTOCK_REHEARSAL": "1"} if part.slot.rehearse else {}
    limit = int(part.seconds_left() - 20)
    for program, some in NEW_SINCE_THE_LAST_SLOT.items():
        for tool in ("memcheck", "racecheck"):
            commands.append((f"{program}-{tool}", [HERE / "sanitize.sh", tool, limit, part.slot.program(program),
                                                   f"--gtest_filter={part.slot.filter or some}"], variables))
    for network in ("transformer", "resnet"):
        out = part.slot.tree / "slot" / "runs" / f"sanitized-{network}"
        toy = ["--steps", 1] if part.slot.rehearse else ["--steps", 4]
        commands.append((f"{network}-memcheck", [HERE / "sanitize.sh", "memcheck", limit, part.slot.program("penstock"), "train",
                                                 HERE / f"{network}.toml", "--device", "cuda", "--overwrite", "--out", out, *toy], variables))
    if part.slot.short:
        commands = commands[1:2]
    codes = part.run_all(commands)
    for (name, *_), code in zip(commands, codes):
        last = part.log(name).strip().splitlines()[-1]
        part.say(f"{name}: {'clean' if code == 0 else last if code == NO_GPU else f'exit code {code}: {last}'}")
    return worst([0 if code == NO_GPU else code for code in codes])  # what cannot be run here is no failure


PARTS = [  # name, limit in seconds, what it is for, function
    ("build", 540, "compiles penstock, its GPU tests and benchmarks; three minutes on 16 cores; not from a pack", build),
    ("smoke", 120, "versions, copies, an op of every family, trainings that must agree to the bit; 36 s on an H200", smoke),
    ("ops", 240, "every op beside the CPU's, and NCCL with one rank; 28 s", ops),
    ("kernels", 120, "every kernel's time, bandwidth and FLOP/s, and what the libraries granted; 5 s", kernels),
    ("blocks", 540, "Transformer blocks and whole training steps beside PyTorch", blocks),
    ("largest", 420, "the deepest Transformer-L that fits, predicted and measured memory", largest),
    ("runs", 480, "whole runs: the same bits for every K, schedule and recompute", runs),
    ("sanitizers", 300, "compute-sanitizer over the ops that are new since the last slot and two trainings", sanitizers),
]


def kernel_bench(part, *options):
    return [part.slot.program("kernel_bench"), *options, *(["--toy"] if part.slot.rehearse else [])]


def python_environment():
    """For Python programs: with the libraries that Python came with; they give ours to our programs."""
    foreign = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": foreign, "PENSTOCK_LD_LIBRARY_PATH": os.environ.get("PENSTOCK_LD_LIBRARY_PATH", foreign)}


def run_tests(part, programs, shards):
    """Runs GoogleTest programs {name: filter} in so many processes each, side by side, and says what they found."""
    commands, names = [], []
    for program, some in programs.items():
        for shard in range(shards):
            names.append(f"{program}.{shard + 1}")
            variables = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard), "OMP_NUM_THREADS": "1",
                         "PENSTOCK_PROGRAM": str(part.slot.program("penstock")),
                         "PENSTOCK_RANKS": str(part.slot.tree / "ranks.sh")}
            commands.append((names[-1], [part.slot.program(program), f"--gtest_filter={part.slot.filter or some}"], variables))
    codes = part.run_all(commands)
    for name, code in zip(names, codes):
        found = results_of(part.log(name))
        part.say(f"{name}: {found['OK']} passed, {len(found['FAILED'])} failed, {found['SKIPPED']} skipped" +
                 (f", exit code {code}" if code else "") + (f", stopped in {found['open']}" if found["open"] else ""))
        for test in found["FAILED"]:
            part.say(f"  failed: {test}")
        if code == 0 and found["OK"] == 0 and shards == 1:
            part.say("  nothing was run")
            codes.append(1)
    return codes


def results_of(log):
    """What a GoogleTest program has printed so far. A line with a time is a verdict; the list at the end repeats them."""
    found = {"OK": 0, "FAILED": [], "SKIPPED": 0, "open": ""}
    for line in log.splitlines():
        verdict = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?),?(?: .*)?(\(\d+ ms\))?$", line)
        if not verdict:
            continue
        kind, test, time = verdict.groups()
        if kind == "RUN":
            found["open"] = test
        elif time or re.search(r"\(\d+ ms\)$", line):
            found["open"] = ""
            if kind == "FAILED":
                found["FAILED"].append(test)
            else:
                found[kind] += 1
    return found


def worst(codes):
    """One exit code for several."""
    if any(code not in (0, NO_GPU, OUT_OF_TIME) for code in codes):
        return 1
    return OUT_OF_TIME if OUT_OF_TIME in codes else NO_GPU if NO_GPU in codes else 0
