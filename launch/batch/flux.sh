#!/bin/bash
# A training run as a Flux job that goes on after its time limit: docs/batch.md. Submit it from the folder that the run is started
# in:
#
#   flux batch launch/batch/flux.sh RUNFILE.toml [options of penstock train]
#
# What #FLUX says here can be said on the command line of `flux batch` instead, and then also in PENSTOCK_SUBMIT, which is given to it
# again for the jobs that go on: a job cannot see how it was submitted. The environment may name
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_RANKS   how many [4 for each node]
#   PENSTOCK_SUBMIT  options of flux batch for the jobs that go on, such as '--nodes=4 --time-limit=12h'
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
script=flux.sh

# What the job scripts share is in job.sh, which is looked for as that file says.
program=${PENSTOCK:-build/release/bin/penstock}
if [ -z "${PENSTOCK-}" ] && [ ! -x "$program" ]; then program=penstock; fi
beside=$(dirname "$(readlink -f "$(command -v "$program")")")
for folder in "${PENSTOCK_BATCH:-launch/batch}" launch/batch "$beside/../share/penstock/batch" "$beside/../../../launch/batch" ''; do
  [ ! -e "$folder/job.sh" ] || break
done
[ -n "$folder" ] || { echo "$script: job.sh is not in ${PENSTOCK_BATCH:-launch/batch}, nor beside the program $program (PENSTOCK says which): PENSTOCK_BATCH says where it is" >&2; exit 2; }
# shellcheck source=launch/batch/job.sh
. "$folder/job.sh"

[ $# -ge 1 ] || { say "there is no run file: flux batch launch/batch/flux.sh RUNFILE.toml [options]"; exit 2; }
submitted=("$@")
nodes=$(flux getattr size 2>/dev/null)
in_a_job nodes Flux 'flux batch launch/batch/flux.sh RUNFILE.toml [options]'
ranks=${PENSTOCK_RANKS:-$((4 * nodes))} start=${PENSTOCK_START:-1}
# The jobs of one run have one run directory: it has the number of the first.
job=$(flux getattr jobid 2>/dev/null || echo 1)
out=${PENSTOCK_OUT:-runs/penstock-$job}
take_words "$@"

# Flux signals all that runs in the job two minutes before its limit, by itself; newer ones signal this shell, too. SIGHUP and SIGTERM
# are `flux cancel`. Every rank sees all GPUs of its node, and takes its own: what hides the others keeps messages from going between
# them directly.
signals_reach_ranks=yes
run_job flux run -N "$nodes" -n "$ranks" --exclusive ${PENSTOCK_GPUS:+-o gpu-affinity=off}
if worth_another_turn; then
  say "exit code $code: submitted again, $(onward)"
  export PENSTOCK_OUT=$out PENSTOCK_START=$((start + 1))
  # The new job goes to the Flux instance that this one is part of. $0 is Flux's copy of this file, with the #FLUX lines.
  read -ra options <<<"${PENSTOCK_SUBMIT-}"
  flux --parent batch "${options[@]}" "$0" "${submitted[@]}" || say "a job cannot be submitted from here: submit it again with $(again)"
fi
exit "$code"
