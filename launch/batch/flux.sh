#!/bin/bash
# A training run as a Flux job that goes on after its time limit: docs/batch.md. Submit it from the folder that the run is started
# in:
#
#   flux batch launch/batch/flux.sh RUNFILE.toml [options of penstock train]
#
# What #FLUX says here can be said on the command line of `flux batch` instead. The environment may name
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_RANKS   how many [4 for each node]
#   PENSTOCK_RETRIES how often it is submitted again after failures that left no new checkpoint [3]
#
#FLUX: --job-name=penstock
#FLUX: --nodes=2
#FLUX: --exclusive
#FLUX: --time-limit=4h
#FLUX: --signal=SIGUSR1@2m
#FLUX: --output=penstock-{{id}}.log
# With GPUs, one for each rank: `flux batch --gpus-per-slot=4 --nslots=2 ...`, and PENSTOCK_GPUS=1.
set -u

say() { echo "flux.sh: $*" >&2; }

[ $# -ge 1 ] || { say "there is no run file: flux batch launch/batch/flux.sh RUNFILE.toml [options]"; exit 2; }
submitted=("$@")
program=${PENSTOCK:-build/release/bin/penstock}
if [ -z "${PENSTOCK-}" ] && [ ! -x "$program" ]; then program=penstock; fi
nodes=$(flux getattr size)
ranks=${PENSTOCK_RANKS:-$((4 * nodes))}

# The jobs of one run have one run directory: it has the number of the first.
job=$(flux getattr jobid 2>/dev/null || echo 1)
out=${PENSTOCK_OUT:-runs/penstock-$job} named=no
for ((i = 1; i <= $#; ++i)); do
  case ${!i} in
    --out | --run.out) next=$((i + 1)); out=${!next-} named=yes ;;
    --out=* | --run.out=*) out=${!i#*=} named=yes ;;
  esac
done
[ "$named" = yes ] || set -- "$@" --out "$out"

newest() { find "$out/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1; }

# Flux signals all that runs in the job two minutes before its limit, by itself: the ranks finish their step, write a checkpoint and
# end with code 75. Newer ones signal this shell, too, which must outlive it. SIGHUP and SIGTERM are `flux cancel`.
trap ':' USR1
cancelled=no
trap 'cancelled=yes' TERM HUP

before=$(newest)
start=${PENSTOCK_START:-1}
say "job $job, start $start: $ranks ranks, run directory $out"
# Every rank sees all GPUs of its node, and takes its own: what hides the others keeps messages from going between them directly.
flux run -N "$nodes" -n "$ranks" --exclusive ${PENSTOCK_GPUS:+-o gpu-affinity=off} "$program" train "$@" --resume auto </dev/null &
child=$!
while kill -0 "$child" 2>/dev/null; do wait "$child"; done # a signal ends a wait, too
wait "$child"
code=$?

# go_on: whether this run is worth another turn in the queue.
go_on() {
  [ "$cancelled" = no ] && [ ! -e "$out/stop" ] || return 1
  case $code in
    0 | 2 | 5 | 6) return 1 ;; # done; a wrong run file, damaged data and a loss that is not finite stay as they are
    75) return 0 ;;
  esac
  [ "$(newest)" != "$before" ] || [ "$start" -le "${PENSTOCK_RETRIES:-3}" ]
}
if go_on; then
  say "exit code $code: submitted again, to go on from $(newest)"
  export PENSTOCK_OUT=$out PENSTOCK_START=$((start + 1))
  # To the instance that this job is one of. $0 is Flux's copy of this file, with the #FLUX lines.
  flux --parent batch "$0" "${submitted[@]}" || say "a job cannot be submitted from here: submit it again with --out $out"
fi
exit "$code"
