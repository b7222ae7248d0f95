#!/usr/bin/env bash
# All tests as on every kind of processor that this machine can stand for: bf16 native and emulated, AVX-512 and AVX2, and our own
# loops as compiled for AVX2 (build/avx2). Slow: the tests five times and a build. A table at the end says how each went.
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
# Our loops for AVX2; oneDNN is told to do without AVX-512 as well.
# shellcheck disable=SC2317  # part calls it
as_on_avx2() {
  cmake -S . -B build/avx2 -G Ninja -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_TESTS=ON -DPENSTOCK_CUDA=OFF -DPENSTOCK_ARCH=x86-64-v3 &&
    cmake --build build/avx2 &&
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ONEDNN_MAX_CPU_ISA=AVX2 \
      ctest --test-dir build/avx2 --output-on-failure --parallel "$(nproc)" </dev/null
}
part "build" launch/setup.sh release --cuda
part "as this processor is" launch/test.sh --no-build
part "AVX-512 with bf16" launch/test.sh --no-build --isa AVX512_CORE_BF16
part "AVX-512, bf16 emulated" launch/test.sh --no-build --isa AVX512_CORE
part "AVX2, bf16 emulated" launch/test.sh --no-build --isa AVX2
part "AVX2, our own loops too" as_on_avx2
printf '\n%s: %s\n' "$(sed -n 's/^model name[^:]*: *//p;T;q' /proc/cpuinfo)" \
  "$(grep -oE '\b(avx2|avx512f|avx512_bf16)\b' /proc/cpuinfo | sort -u | paste -sd ' ')"
printf '%s\n' "${table[@]}"
exit "$status"
