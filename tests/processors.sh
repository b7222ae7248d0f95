#!/usr/bin/env bash
# All tests as on every kind of processor that this machine can stand for: bf16 native and emulated, AVX-512 and AVX2, and, in a build
# for several kinds of processor (build/levels), our own loops as compiled for AVX-512 and for AVX2. Slow: the tests six times and a
# build. A table at the end says how each went.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
table=()
status=0
# part NAME COMMAND...
part() {
  local name=$1 start=$SECONDS code=0 log found
  shift
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || { code=$?; status=1; }
  found=$(grep -E '^[0-9]+ tests: ' "$log" | tail -1)
  rm -f "$log"
  table+=("$(printf '%-46s %6d s  exit %d  %s' "$name" $((SECONDS - start)) "$code" "$found")")
}
# shellcheck disable=SC2317  # part calls it
build_levels() {
  cmake -S . -B build/levels -G Ninja -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_TESTS=ON -DPENSTOCK_CUDA=OFF "-DPENSTOCK_ARCH=x86-64-v3;x86-64-v4" &&
    cmake --build build/levels
}
# at_level LEVEL VARIABLE=VALUE...: the tests where these variables make the loader take the kernels of that level.
# shellcheck disable=SC2317  # part calls it
at_level() {
  local level=$1
  shift
  if ! env "$@" build/levels/bin/penstock --version | grep "^kernels for $level,"; then
    echo "processors.sh: the kernels for $level are not taken here"
    return 1
  fi
  env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@" \
    ctest --test-dir build/levels --output-on-failure --parallel "$(nproc)" </dev/null
}
part "build" launch/setup.sh release --cuda
part "as this processor is" launch/test.sh --no-build
part "AVX-512 with bf16" launch/test.sh --no-build --isa AVX512_CORE_BF16
part "AVX-512, bf16 emulated" launch/test.sh --no-build --isa AVX512_CORE
part "AVX2, bf16 emulated" launch/test.sh --no-build --isa AVX2
part "build for two levels of processor" build_levels
part "AVX-512 kernels beside a program for AVX2" at_level x86-64-v4
# oneDNN is told to do without AVX-512 as well.
part "AVX2, our own loops too" at_level x86-64-v3 GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F ONEDNN_MAX_CPU_ISA=AVX2
printf '\n%s: %s\n' "$(sed -n 's/^model name[^:]*: *//p;T;q' /proc/cpuinfo)" \
  "$(grep -oE '\b(avx2|avx512f|avx512_bf16)\b' /proc/cpuinfo | sort -u | paste -sd ' ')"
printf '%s\n' "${table[@]}"
exit "$status"
