#!/usr/bin/env bash
# Coverage-guided fuzzing of every reader, with Clang's libFuzzer and the sanitizers of addresses and undefined behaviour. What it
# finds is left in build/fuzz/findings, the files that reach new code in build/fuzz/corpus.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

usage() {
  cat <<'END'
usage: tests/fuzz/run.sh [--seconds S] [--at-once N] [--help] [TARGET...]

  --seconds S  of processor time for each target (600), so that other work beside it does not count
  --at-once N  compile and fuzz N at a time (as many as there are cores)
  TARGET       folders of tests/fuzz/seeds; all when none is named

Runs at the lowest priority. Needs what launch/setup.sh asan installs. Environment: CXX, a Clang (clang++-14).
Exit code: 0 when nothing was found, 1 when something was.
END
}

seconds=600
at_once=$(nproc)
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --at-once) at_once=${2:?--at-once needs a number}; shift ;;
    -*) echo "run.sh: unknown option '$1'; see tests/fuzz/run.sh --help" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
seeds=tests/fuzz/seeds
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(ls "$seeds"); fi

cmake --preset asan -B build/fuzz -DCMAKE_CXX_COMPILER="${CXX:-clang++-14}" \
  -DPENSTOCK_SANITIZE=address,undefined,fuzzer-no-link >/dev/null
nice -n 19 cmake --build build/fuzz --target fuzzers -j "$at_once"
mkdir -p build/fuzz/findings
out_of_time=$((128 + $(kill -l XCPU)))

# fuzz TARGET: until its time is spent, which is how a target without a finding ends.
fuzz() {
  local target=$1 corpus=build/fuzz/corpus/$1 log=build/fuzz/$1.log code=0 result=clean
  mkdir -p "$corpus"
  # Bash announces an end by a signal, which this one is, on its own standard error: hence the braces.
  {
    prlimit --cpu="$seconds": --core=0 nice -n 19 build/fuzz/bin/"fuzz_$target" "$corpus" "$seeds/$target" -max_len=65536 \
      -rss_limit_mb=4096 -timeout=20 -artifact_prefix="build/fuzz/findings/$target-" >"$log" 2>&1
  } 2>/dev/null || code=$?
  [ "$code" -eq "$out_of_time" ] || result="FOUND ($code), see $log"
  printf '%-14s %10s runs, %6s files in the corpus, %s\n' "$target" "$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -n 1)" \
    "$(find "$corpus" -type f | wc -l)" "$result"
  [ "$result" = clean ]
}

status=0
running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$at_once" ]; then
    wait -n || status=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || status=1
  running=$((running - 1))
done
exit "$status"
