#!/usr/bin/env bash
# Under two MPIs, a run gives the same losses and the same checkpoints, to the bit; and either, started by the mpiexec of the other, says
# so in one line.
#   same_bits.sh RANKS PENSTOCK OTHER_RANKS OTHER_PENSTOCK     RANKS is a ranks.sh (tests/ranks.sh.in)
set -euo pipefail
ranks=$1 penstock=$2 other_ranks=$3 other=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >run.toml <<'END'
[model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 4
context = 16
vocabulary = 50
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
clip_norm = 1.0
[pipeline]
micro_batches = 4
micro_batch_size = 2
[run]
steps = 12
threads = 1
END

# losses RUN: what metrics.jsonl has of each step that is not of the machine.
losses() { sed -E 's/.*("step":[0-9]+).*("loss":[^,}]+).*("grad_norm":[^,}]+).*/\1 \2 \3/' "$1/metrics.jsonl"; }

# same N OPTION...: with N ranks.
same() {
  local n=$1 out
  shift
  for out in one two; do rm -rf "$out"; done
  "$ranks" -n "$n" "$penstock" train run.toml --out one "$@" >one.log 2>&1 || { cat one.log; return 1; }
  "$other_ranks" -n "$n" "$other" train run.toml --out two "$@" >two.log 2>&1 || { cat two.log; return 1; }
  "$penstock" inspect one two >difference || { echo "$n ranks, $*:"; cat difference; return 1; }
  [ "$(losses one | wc -l)" -ge 12 ] || { echo "no losses"; return 1; }
  diff <(losses one) <(losses two)
  for file in one/checkpoints/step-*/*.safetensors; do cmp "$file" "two${file#one}"; done
}
same 1
same 2 --stages 2 --schedule zb-h1
same 2 --replicas 2
same 4 --stages 2 --replicas 2 --reduction exact
same 3 --stages 3 --precision bf16

# strangers RANKS PENSTOCK
strangers() {
  local code=0
  "$1" -q -n 2 "$2" train run.toml --out strange --stages 2 >strange.log 2>&1 || code=$?
  cat strange.log
  [ "$code" -eq 2 ]
  [ "$(grep -c '^penstock: error: ' strange.log)" -eq 1 ]
  grep -q "started 2 processes .* that MPI does not join into one job: penstock was built with " strange.log
  [ ! -e strange ]
}
# name PENSTOCK: the first word of its MPI's name. Open MPI 4 and 5 start each other's programs.
name() { "$1" info | sed -n 's/^MPI *\([A-Za-z]*\).*/\1/p'; }
if [ "$(name "$penstock")" != "$(name "$other")" ]; then
  strangers "$ranks" "$other"
  strangers "$other_ranks" "$penstock"
fi
