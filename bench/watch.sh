#!/bin/bash
# bench/watch.sh [MINUTES] -- what the watch over all ranks says, and when it keeps silent: a table.
#
#   slow steps   a run of that many minutes (30) whose ranks are held up again and again, for less than the limit, and evaluate
#                and save often: no alarm
#   stopped      one rank is stopped for good: reported within the limit and a second, with the right rank
#   slow rank    one rank has its processor for half of the time: named within 20 steps
#
# Beside other work on the same cores the last row means little. Uses build/release/bin/penstock, or PENSTOCK_PROGRAM.
set -u
minutes=${1:-30}
root=$(cd "$(dirname "$0")/.." && pwd)
program=${PENSTOCK_PROGRAM:-$root/build/release/bin/penstock}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1

cat >"$folder/run.toml" <<'END'
[model]
kind = "transformer-lm"
layers = 4
width = 128
heads = 4
context = 64
vocabulary = 100
[data]
kind = "synthetic"
validation = 0.1
samples = 400
[pipeline]
stages = 2
micro_batches = 4
micro_batch_size = 4
[run]
threads = 1
END

# start NAME OPTIONS...: a run of two ranks in the background; sets job.
start() {
  local name=$1
  shift
  mpirun --oversubscribe --bind-to none -n 2 "$program" train "$folder/run.toml" --out "$folder/$name" "$@" \
    >"$folder/$name.txt" 2>&1 &
  job=$!
}
# Waits until the run NAME has taken that many steps.
reach() {
  until [ "$(wc -l 2>/dev/null <"$folder/$1/metrics.jsonl" || echo 0)" -ge "$2" ]; do
    kill -0 "$job" 2>/dev/null || return 1
    sleep 0.05
  done
}
# The processes of the run NAME, by rank.
ranks() { pgrep -P "$job" | sort -n; }
steps() { wc -l <"$folder/$1/metrics.jsonl"; }

row() { printf '| %-10s | %-44s | %-60s |\n' "$1" "$2" "$3"; }
row what "how long" result
row ---------- -------------------------------------------- ------------------------------------------------------------

start slow --steps 100000000 --run.wait_limit 4 --checkpoint.every 20 --checkpoint.keep 2 --eval-every 50
reach slow 5
mapfile -t process < <(ranks)
end=$((SECONDS + minutes * 60))
held=0
while [ $SECONDS -lt $end ] && kill -0 "$job" 2>/dev/null; do
  victim=${process[$((RANDOM % ${#process[@]}))]}
  kill -STOP "$victim"
  sleep "$((1 + RANDOM % 2)).$((RANDOM % 5))"
  kill -CONT "$victim"
  held=$((held + 1))
  sleep 0.$((1 + RANDOM % 9))
done
if kill -0 "$job" 2>/dev/null; then said="no alarm in $(steps slow) steps"; else said="ENDED: $(tail -n 1 "$folder/slow.txt")"; fi
row "slow steps" "$minutes min, $held times held up 1.0 to 2.4 s, limit 4 s" "$said"
kill -TERM "$job" 2>/dev/null
wait "$job"

start stopped --steps 100000000 --run.wait_limit 5
reach stopped 20
mapfile -t process < <(ranks)
from=$(date +%s.%N)
kill -STOP "${process[1]}"
wait "$job"
code=$?
to=$(date +%s.%N)
row stopped "$(echo "$to $from" | awk '{printf "%.1f s to the end of the job, limit 5 s", $1 - $2}')" \
  "exit code $code, $(grep -o 'nothing has moved.*(host [^)]*) is stopped by a signal' "$folder/stopped.txt")"

start limited --steps 400 --checkpoint.last false
reach limited 50
mapfile -t process < <(ranks)
from=$(steps limited)
# Without another process a turn, which would take the time of the ranks that are not slowed.
exec {nothing}<> <(:)
while kill -0 "$job" 2>/dev/null && ! grep -q 'has computed' "$folder/limited.txt"; do
  for _ in {1..10}; do
    kill -STOP "${process[1]}" 2>/dev/null
    read -r -t 0.005 -u "$nothing"
    kill -CONT "${process[1]}" 2>/dev/null
    read -r -t 0.005 -u "$nothing"
  done
done
row "slow rank" "$(($(steps limited) - from)) steps until it is named" "$(grep -o 'rank [0-9]* (host.*times' "$folder/limited.txt" || echo 'NOT NAMED')"
kill -TERM "$job" 2>/dev/null
wait "$job"
