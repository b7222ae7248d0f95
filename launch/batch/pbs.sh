#!/bin/bash
# A training run as a PBS job (PBS Pro, OpenPBS; Torque with one line changed) that goes on after its walltime: docs/batch.md. PBS hands no arguments to
# a script, so the run comes in a variable. Submit it from the folder that the run is started in:
#
#   RUN='RUNFILE.toml [options of penstock train]' qsub -v RUN launch/batch/pbs.sh
#
# What #PBS says here can be said on qsub's command line instead, and then also in PENSTOCK_SUBMIT, which is given to qsub again for
# the jobs that go on: a job cannot see how it was submitted. The environment may name (by `qsub -v RUN,NAME=value`)
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_SCRIPT  this file, for the jobs that go on [launch/batch/pbs.sh below the folder]
#   PENSTOCK_SUBMIT  options of qsub for the jobs that go on, such as '-l walltime=12:00:00 -q long'
#   PENSTOCK_RETRIES how often it is submitted again after failures that left no new checkpoint [3]
#
#PBS -N penstock
#PBS -l select=2:ncpus=32:mpiprocs=4
# Torque knows no `select`, and PBS Pro no `ppn` beside it: there this in its place, ppn being the ranks of a node (docs/batch.md).
##PBS -l nodes=2:ppn=4
#PBS -l walltime=04:00:00
#PBS -j oe
# With GPUs, one for each rank of a node: this in place of the `select` above.
##PBS -l select=2:ncpus=32:mpiprocs=4:ngpus=4
set -u
script=pbs.sh

cd "${PBS_O_WORKDIR:-.}" || exit 3
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

in_a_job PBS_JOBID PBS "RUN='RUNFILE.toml [options]' qsub -v RUN launch/batch/pbs.sh"
read -rd '' -a words <<<"${RUN-}" || true # of all lines
[ ${#words[@]} -gt 0 ] || { say "there is no run: RUN='RUNFILE.toml [options]' qsub -v RUN launch/batch/pbs.sh"; exit 2; }
ranks=$(wc -l <"$PBS_NODEFILE") job=$PBS_JOBID start=${PENSTOCK_START:-1}
# The jobs of one run have one run directory: it has the number of the first.
out=${PENSTOCK_OUT:-runs/${PBS_JOBNAME:-penstock}-${job%%.*}}
take_words "${words[@]}"

# PBS sends no signal ahead of the walltime: penstock stops by itself, a minute and its own margin before.
walltime=$(qstat -f "$job" 2>/dev/null | sed -n 's/^ *Resource_List.walltime = \([0-9]*\):\([0-9]*\):\([0-9]*\)$/\1 \2 \3/p')
if [ "$limited" = no ] && [ -n "$walltime" ]; then
  read -r hours minutes seconds <<<"$walltime"
  left=$((10#$hours * 3600 + 10#$minutes * 60 + 10#$seconds - 60))
  [ "$left" -le 0 ] || words+=(--time-limit "$(printf '%d:%02d:%02d' $((left / 3600)) $((left / 60 % 60)) $((left % 60)))")
fi

# An Open MPI without PBS's library, such as Debian's, is told the hosts, and reaches them by PBS where that has a tool for it.
# `qsig -s SIGUSR1` asks for a checkpoint and the end of this job; SIGTERM is qdel, or the walltime.
tell_mpirun pbs_tmrsh
run_job mpirun --bind-to none -hostfile "$PBS_NODEFILE" -n "$ranks"
if worth_another_turn; then
  say "exit code $code: submitted again, $(onward)"
  export PENSTOCK_OUT=$out PENSTOCK_START=$((start + 1))
  names=RUN,PENSTOCK_OUT,PENSTOCK_START
  for name in PENSTOCK PENSTOCK_BATCH PENSTOCK_SCRIPT PENSTOCK_SUBMIT PENSTOCK_RETRIES; do
    if [ -n "${!name-}" ]; then export "${name?}"; names+=,$name; fi
  done
  read -ra options <<<"${PENSTOCK_SUBMIT-}"
  qsub "${options[@]}" -W "depend=afterany:$job" -v "$names" "${PENSTOCK_SCRIPT:-launch/batch/pbs.sh}" ||
    say "a job cannot be submitted from here: submit it again with $(again)"
fi
exit "$code"
