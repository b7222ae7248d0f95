#!/usr/bin/env bash
# Everything that takes a GPU, in one go and within ten minutes: builds the CUDA tree, runs the tests of label gpu,
# holds the speed against PyTorch's, and trains the largest Transformer that fits. Needs no network.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2

usage() {
  cat <<'END_OF_USAGE'
usage: tests/gpu/run.sh [--only STEP]... [--no-bench] [--no-build] [--filter REGEX] [--help]

  STEP            tests, bench (bench/gpu/run.py), memory (bench/gpu/largest.py); default: all, in this order
  --no-bench      leave bench and memory out
  --no-build      take build/gpu as it is
  --filter REGEX  only the tests whose name matches

Needs nvcc, CMake, Ninja and a C++ compiler; cuDNN, NCCL and cuBLAS where the toolkit has them, else those of python3's
packages; the other libraries (launch/packages.sh) from the system, or from a bundle made by launch/bundle.sh in
./bundle or $PENSTOCK_BUNDLE. PyTorch for the comparison.

Environment: OUT (logs and tables; default build/gpu-results), PENSTOCK_SECONDS (for everything; default 570: a step gets
what is left, and the benchmark leaves out the rows that it has no time for), PENSTOCK_JOBS (compilers; default: cores).

A step that fails does not keep the next from running. Exit codes: 0 all passed; 1 a step failed, the summary says
which; 2 bad usage; 77 there is no GPU: everything was built, and what needs one was skipped, and says so.
END_OF_USAGE
}

steps=(tests bench memory)
only=()
build=yes
filter=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --only) only+=("${2:-}"); shift ;;
    --no-bench) only=(tests) ;;
    --no-build) build=no ;;
    --filter) filter=${2:?--filter needs a regular expression}; shift ;;
    *) echo "run.sh: unknown argument '$1'; see tests/gpu/run.sh --help" >&2; exit 2 ;;
  esac
  shift
done
for step in "${only[@]}"; do
  [[ " ${steps[*]} " == *" $step "* ]] || { echo "run.sh: unknown step '$step': ${steps[*]}" >&2; exit 2; }
done
[ ${#only[@]} -eq 0 ] || steps=("${only[@]}")
wants() { [[ " ${steps[*]} " == *" $1 "* ]]; }

tree=$root/build/gpu
out=${OUT:-$root/build/gpu-results}
mkdir -p "$out" "$tree" || exit 2
out=$(cd "$out" && pwd)
seconds=${PENSTOCK_SECONDS:-570}
left() { echo $((seconds > SECONDS ? seconds - SECONDS : 1)); }

# ---- libraries
foreign=${LD_LIBRARY_PATH-}  # what python3 and PyTorch run with
bundle=${PENSTOCK_BUNDLE:-$root/bundle}
if [ -f "$bundle/activate.sh" ]; then
  # shellcheck source=/dev/null
  . "$bundle/activate.sh" || exit 2
fi
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
command -v nvcc >/dev/null || PATH=${CUDA_HOME:-/usr/local/cuda}/bin:$PATH

# has HEADER...: one of them lies where the compiler or the toolkit keeps its headers.
has() {
  local folder
  folder=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  for header in "$@"; do
    ls "$folder/include/$header" "$folder"/targets/*/include/"$header" /usr/include/"$header" /usr/include/*/"$header" 2>/dev/null
  done | grep -q .
}

# Python's NVIDIA packages hold libraries without the names that a linker looks for: a folder of links has both.
# link_packages HEADER LIBRARY: links every package that holds the header into build/gpu/nvidia, if the toolkit has none.
link_packages() {
  local header=$1 library=$2 package file part
  ! has "$header" || return 0
  for package in $(python3 -c 'import site; print(*site.getsitepackages())' 2>/dev/null); do
    for file in "$package"/nvidia/*/include/"$header"; do
      [ -e "$file" ] || continue
      mkdir -p "$tree/nvidia/include" "$tree/nvidia/lib"
      ln -sf "$(dirname "$file")"/* "$tree/nvidia/include/"
      ln -sf "$(dirname "$file")"/../lib/*.so* "$tree/nvidia/lib/"
      for part in "$tree/nvidia/lib/$library".so.*; do
        [ ! -e "$part" ] || ln -sf "$(basename "$part")" "$tree/nvidia/lib/$library.so"
      done
      return 0
    done
  done
}
rm -rf "$tree/nvidia"
link_packages cudnn.h libcudnn
link_packages nccl.h libnccl
link_packages cublasLt.h libcublasLt
if [ -d "$tree/nvidia" ]; then
  export CUDNN_ROOT=$tree/nvidia NCCL_ROOT=$tree/nvidia
  export CMAKE_PREFIX_PATH=$tree/nvidia${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export CPATH=$tree/nvidia/include${CPATH:+:$CPATH}
  export LD_LIBRARY_PATH=$tree/nvidia/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# What the libraries open by name while they run (NVRTC, for one) lies in the toolkit too.
if command -v nvcc >/dev/null; then
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  [ ! -d "$toolkit/lib64" ] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64
fi

# ---- steps
summary=()
failed=0
gpu=unknown

# step NAME COMMAND...: runs it with its talk in $out/NAME.log, and notes how it ended and how long it took.
step() {
  local name=$1 start=$SECONDS code result
  shift
  echo "== $name"
  "$@" >"$out/$name.log" 2>&1
  code=$?
  case $code in
    0) result=passed ;;
    77) result="skipped: no GPU" ;;
    124 | 137) result="failed: out of time"; failed=1 ;;
    *) result="failed (exit code $code)"; failed=1 ;;
  esac
  summary+=("$(printf '%-10s %5d s  %s' "$name" $((SECONDS - start)) "$result")")
  [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || tail -n 30 "$out/$name.log"
  return $code
}

architecture() {
  local compute
  compute=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  [[ $compute =~ ^[0-9]+$ ]] && echo "-DCMAKE_CUDA_ARCHITECTURES=$compute"
}

# Warnings of a compiler that nobody here has tried are no reason to measure nothing.
configure() {
  # shellcheck disable=SC2046  # no word or one
  cmake -S "$root" -B "$tree" -G Ninja -DPENSTOCK_CUDA=ON -DPENSTOCK_TESTS=ON -DPENSTOCK_WERROR=OFF $(architecture)
}

compile() {
  local targets=(penstock gpu_bench)
  ! wants tests || targets+=(gpu_tests)
  timeout "$(left)" cmake --build "$tree" --parallel "${PENSTOCK_JOBS:-$(nproc)}" --target "${targets[@]}"
}

run_tests() {
  local limit select=() jobs
  limit=$(left)
  ! wants bench || limit=$((limit * 45 / 100))
  jobs=$(nproc)
  [ "$jobs" -le 12 ] || jobs=12  # a process on the GPU takes half a gigabyte of it before it begins
  [ -z "$filter" ] || select=(-R "$filter")
  (cd "$tree" && timeout "$limit" ctest -L gpu --no-tests=error --output-on-failure --timeout 120 \
    --parallel "$jobs" "${select[@]}" --output-junit "$out/tests.xml") </dev/null || return 1
  [ "$gpu" = yes ] || return 77
}

# python_step SCRIPT ARGUMENT...: python3 with the libraries it came with, our programs with ours.
python_step() {
  env PENSTOCK_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" LD_LIBRARY_PATH="$foreign" timeout "$(left)" python3 "$@"
}

run_memory() { python_step bench/gpu/largest.py --penstock "$tree/bin/penstock" --out "$out"; }
run_bench() {
  local budget=$(($(left) - 75))  # a row that was begun is finished
  ! wants memory || budget=$((budget - 110))
  [ $budget -gt 0 ] || { echo "no time left"; return 124; }
  python_step bench/gpu/run.py --ours "$tree/bin/gpu_bench" --out "$out" --budget "$budget"
}

if [ "$build" = no ] || { step configure configure && step build compile; }; then
  if reason=$("$tree/bin/gpu_bench" </dev/null 2>&1); then gpu=yes; else gpu=no; fi
  ! wants tests || step tests run_tests
  grep -E 'tests passed|tests failed|Total Test time' "$out/tests.log" 2>/dev/null
  ! wants bench || { step bench run_bench; tail -n 40 "$out/bench.log"; }
  ! wants memory || { step memory run_memory; tail -n 12 "$out/memory.log"; }
fi

echo
echo "== summary (logs and tables in $out)"
[ "$gpu" = no ] && echo "no GPU: $reason"
printf '%s\n' "${summary[@]}" | tee "$out/summary.txt"
[ $failed -eq 0 ] || exit 1
[ "$gpu" != no ] || exit 77
