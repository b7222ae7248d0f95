#!/usr/bin/env bash
# Coverage-guided fuzzing of every reader, with Clang's libFuzzer and the sanitizers of addresses and undefined behaviour. What it
# finds is left in build/fuzz/findings, the files that reach new code in build/fuzz/corpus.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

usage() {
  cat <<'END'
usage: tests/fuzz/run.sh [--seconds S] [--jobs N] [--help] [TARGET...]

  --seconds S  for each target (600)
  --jobs N     to compile with (as many as there are cores)
  TARGET       folders of tests/fuzz/seeds; all when none is named

Needs clang and libomp-dev beside what launch/setup.sh installs. Exit code: 0 when nothing was found, 1 when something was.
END
}

seconds=600
jobs=$(nproc)
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -*) echo "run.sh: unknown option '$1'; see tests/fuzz/run.sh --help" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
seeds=tests/fuzz/seeds
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(ls "$seeds"); fi

cmake --preset asan -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DPENSTOCK_SANITIZE=address,undefined,fuzzer-no-link >/dev/null
cmake --build build/fuzz --target fuzzers -j "$jobs"
mkdir -p build/fuzz/findings
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  log=build/fuzz/$target.log
  if build/fuzz/bin/"fuzz_$target" "$corpus" "$seeds/$target" -max_total_time="$seconds" \
    -max_len=65536 -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$target-" >"$log" 2>&1; then
    result=clean
  else
    result="FOUND, see $log"
    status=1
  fi
  printf '%-14s %10s runs, %6s files in the corpus, %s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$corpus" -type f | wc -l)" "$result"
done
exit "$status"
