#!/usr/bin/env python3
"""Packs what a GPU slot runs, so that a lent machine compiles nothing: programs for one architecture, stripped, with the
shared libraries that the machine lacks, and Open MPI.

usage: tests/gpu/pack.py [--tree build/gpu-pack] [--into build/gpu.pack] [--architecture 90] [--processor x86-64-v3]
                         [--rehearse] [--no-build]

  --tree DIR          the build folder [build/gpu-pack; of a rehearsal, build/release]
  --into FILE         the pack [build/gpu.pack; of a rehearsal, build/gpu-rehearsal.pack]
  --architecture N    of the GPU: 90 is H100 and H200
  --processor LEVEL   as PENSTOCK_ARCH: the host there is not the host here
  --rehearse          the programs over the emulation (tests/host_cuda), for tests/gpu/run.sh --rehearse on another machine
  --no-build          take the build folder as it is

tests/gpu/run.sh finds build/gpu.pack, unpacks it, and runs its programs in place of a build. A library is left out of the
pack where tests/gpu/image.txt names it: those are on the machine. One that is neither here nor there is an error, and so is
a pack over the limit.

Exit codes: 0 packed; 1 it does not compile, a library is missing, or the pack is too large; 2 bad usage.
"""
import argparse
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_BYTES = 45 << 20
# Each program holds the same kernels: a dictionary that reaches from one to the next keeps them once.
COMPRESSION = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 128 << 20}]
PROGRAMS = ["penstock", "gpu_bench", "kernel_bench", "queue_bench", "gpu_product_test", "gpu_pass_test", "gpu_nccl_test",
            "gpu_training_test"]
REHEARSED = ["penstock_host_cuda", "penstock_real_cuda", "host_gpu_bench", "host_kernel_bench", "host_queue_bench",
             "host_product_test", "host_pass_test", "host_gpu_nccl_test", "host_training_test"]
# Of Open MPI and PMIx, what starts ranks on one machine; components for fabrics and batch systems want libraries of theirs.
FOREIGN_COMPONENTS = re.compile(r"ucx|ofi|psm|openib|verbs|slurm|flux|gridengine|monitoring|jsm|oshmem|scoll|spml|memheap|netlink|romio|_dbg_|munge|opa")


class Missing(Exception):
    """A library is neither in the pack nor in the image."""


def image_libraries(path=HERE / "image.txt"):
    """Names of the libraries that the machine has, one a line; lines that begin with # are notes."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return {line for line in lines if line and not line.startswith("#")}


def needed_by(file):
    """Names of the shared libraries that an ELF file asks the loader for."""
    told = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", told)


def libraries_here():
    """Where the loader of this machine finds each library: {name: path}."""
    told = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, path in re.findall(r"^\s+(\S+) \(libc6,x86-64[^)]*\) => (\S+)$", told, re.MULTILINE):
        found.setdefault(name, pathlib.Path(path))
    return found


def closure(files, image, here):
    """The libraries {name: path} that the files need, and those need in turn, less those of the image."""
    packed, open_files, missing = {}, list(files), set()
    while open_files:
        file = open_files.pop()
        for name in needed_by(file):
            if name in image or name in packed:
                continue
            if name not in here:
                missing.add(f"{name} ({file.name})")
                continue
            packed[name] = here[name]
            open_files.append(here[name])
    if missing:
        raise Missing(", ".join(sorted(missing)))
    return packed


def components():
    """Open MPI's and PMIx's own parts: {path in the pack: path here}."""
    lib = next(pathlib.Path("/usr/lib").glob("*-linux-gnu"))
    parts = {}
    for folder in (lib / "openmpi/lib/openmpi3", *lib.glob("pmix2/lib/pmix")):
        for file in folder.glob("*.so"):
            if not FOREIGN_COMPONENTS.search(file.name):
                parts[str(file.relative_to("/"))] = file
    for folder in (pathlib.Path("/usr/share/openmpi"), *pathlib.Path("/usr/share").glob("pmix*")):
        for file in folder.rglob("*.txt") if folder.exists() else []:
            parts[str(file.relative_to("/"))] = file
    for name in ("orterun", "orted"):
        parts[f"usr/bin/{name}"] = pathlib.Path("/usr/bin") / name
    parts["usr/bin/mpirun"] = parts["usr/bin/orterun"]
    return parts, lib


def gather(programs, ranks, into):
    """Fills the folder `into`, which is not there yet. `ranks`: the script of the build folder that tests start ranks with."""
    (into / "bin").mkdir(parents=True)
    ours = []
    for program in programs:
        subprocess.run(["strip", "-o", str(into / "bin" / program.name), str(program)], check=True)
        ours.append(into / "bin" / program.name)
    parts, lib = components()
    image = image_libraries()
    here = libraries_here()
    # Open MPI's components find each other's libraries in a folder that the loader does not know.
    for folder in (lib / "openmpi/lib", lib / "pmix2/lib"):
        for file in folder.glob("*.so*"):
            here.setdefault(file.name, file)
    files = ours + [path for path in parts.values() if path.suffix == ".so" or path.parent.name == "bin"]
    for name, path in closure(files, image, here).items():
        parts[str((lib / name).relative_to("/"))] = path
    for name, path in parts.items():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path.resolve(), target)
        shutil.copymode(path.resolve(), target)
        if path.suffix == ".so" or ".so." in path.name:
            subprocess.run(["strip", "--strip-unneeded", str(target)], check=False, stderr=subprocess.DEVNULL)
    shutil.copy(HERE / "unpacked.sh", into / "activate.sh")
    # The mpirun that was found here is not there: the pack's own comes first in PATH.
    (into / "ranks.sh").write_text(re.sub(r"^exec '[^']*'", "exec mpirun", ranks.read_text(), flags=re.MULTILINE))
    shutil.copymode(ranks, into / "ranks.sh")


def build(options, tree):
    target = "gpu_rehearsal" if options.rehearse else "gpu_slot"
    if not options.no_build:
        cuda = ["-DPENSTOCK_CUDA=TOOLKIT"] if options.rehearse else [
            "-DPENSTOCK_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={options.architecture}-real"]
        frontend = ROOT / "build" / "cudnn-frontend"
        if frontend.exists():
            cuda.append(f"-DCUDNN_FRONTEND_ROOT={frontend}")
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(tree), "-G", "Ninja", "-DPENSTOCK_TESTS=ON",
                        f"-DPENSTOCK_ARCH={options.processor}", *cuda], check=True)
        subprocess.run(["cmake", "--build", str(tree), "--target", target], check=True)
    names = REHEARSED if options.rehearse else PROGRAMS
    return [tree / "bin" / name for name in names if (tree / "bin" / name).exists() or name != "penstock_real_cuda"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--tree", help=argparse.SUPPRESS)
    parser.add_argument("--into", help=argparse.SUPPRESS)
    parser.add_argument("--architecture", default="90", help=argparse.SUPPRESS)
    parser.add_argument("--processor", default="x86-64-v3", help=argparse.SUPPRESS)
    parser.add_argument("--rehearse", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-build", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kind = "gpu-rehearsal" if options.rehearse else "gpu"
    tree = pathlib.Path(options.tree or ROOT / "build" / ("release" if options.rehearse else "gpu-pack")).resolve()
    into = pathlib.Path(options.into or ROOT / "build" / f"{kind}.pack").resolve()
    try:
        programs = build(options, tree)
        with tempfile.TemporaryDirectory() as work:
            gather(programs, tree / "ranks.sh", pathlib.Path(work))
            new = into.with_name(into.name + ".new")
            with lzma.open(new, "wb", filters=COMPRESSION) as file, tarfile.open(fileobj=file, mode="w") as tar:
                tar.add(work, arcname=".")
            new.replace(into)
    except subprocess.CalledProcessError as error:
        print(f"pack.py: failed: {error}", file=sys.stderr)
        return 1
    except Missing as error:
        print(f"pack.py: neither here nor in tests/gpu/image.txt: {error}", file=sys.stderr)
        return 1
    size = into.stat().st_size
    print(f"{into}: {size / (1 << 20):.1f} MiB")
    if size > LIMIT_BYTES:
        print(f"pack.py: more than {LIMIT_BYTES >> 20} MiB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
