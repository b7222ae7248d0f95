#!/bin/bash
# A training run as a PBS job (PBS Pro, OpenPBS; Torque with one line changed) that goes on after its walltime: docs/batch.md. PBS hands no arguments to
# a script, so the run comes in a variable. Submit it from the folder that the run is started in:
#
#   RUN='RUNFILE.toml [options of penstock train]' qsub -v RUN launch/batch/pbs.sh
#
# What #PBS says here can be said on qsub's command line instead. The environment may name (by `qsub -v RUN,NAME=value`)
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_SCRIPT  this file, for the jobs that go on [launch/batch/pbs.sh below the folder]
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

say() { echo "pbs.sh: $*" >&2; }

cd "$PBS_O_WORKDIR" || exit 3
[ -n "${RUN-}" ] || { say "there is no run: RUN='RUNFILE.toml [options]' qsub -v RUN launch/batch/pbs.sh"; exit 2; }
read -ra words <<<"$RUN"
program=${PENSTOCK:-build/release/bin/penstock}
if [ -z "${PENSTOCK-}" ] && [ ! -x "$program" ]; then program=penstock; fi
ranks=$(wc -l <"$PBS_NODEFILE")

# The jobs of one run have one run directory: it has the number of the first.
out=${PENSTOCK_OUT:-runs/${PBS_JOBNAME:-penstock}-${PBS_JOBID%%.*}} named=no limited=no
for ((i = 0; i < ${#words[@]}; ++i)); do
  case ${words[i]} in
    --out | --run.out) out=${words[i + 1]-} named=yes ;;
    --out=* | --run.out=*) out=${words[i]#*=} named=yes ;;
    --time-limit | --time-limit=* | --run.time_limit | --run.time_limit=*) limited=yes ;;
  esac
done
[ "$named" = yes ] || words+=(--out "$out")

# PBS sends no signal ahead of the walltime: penstock stops by itself, a minute and its own margin before.
walltime=$(qstat -f "$PBS_JOBID" 2>/dev/null | sed -n 's/^ *Resource_List.walltime = \([0-9]*\):\([0-9]*\):\([0-9]*\)$/\1 \2 \3/p')
if [ "$limited" = no ] && [ -n "$walltime" ]; then
  read -r hours minutes seconds <<<"$walltime"
  left=$((10#$hours * 3600 + 10#$minutes * 60 + 10#$seconds - 60))
  [ "$left" -le 0 ] || words+=(--time-limit "$(printf '%d:%02d:%02d' $((left / 3600)) $((left / 60 % 60)) $((left % 60)))")
fi

# An Open MPI without PBS's library, such as Debian's, is told the hosts, and reaches them by PBS where that has a tool for it. A
# host whose cable is cut is noticed after 10 s instead of 488.
export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=3
if command -v pbs_tmrsh >/dev/null; then export OMPI_MCA_plm_rsh_agent=pbs_tmrsh; fi

newest() { find "$out/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1; }

# `qsig -s SIGUSR1` asks for a checkpoint and the end of this job; SIGTERM is qdel, or the walltime.
child='' cancelled=no
trap '[ -z "$child" ] || kill -USR1 "$child"' USR1
trap 'cancelled=yes; [ -z "$child" ] || kill -USR1 "$child"' TERM

before=$(newest)
start=${PENSTOCK_START:-1}
say "job $PBS_JOBID, start $start: $ranks ranks, run directory $out"
mpirun -q --bind-to none -hostfile "$PBS_NODEFILE" -n "$ranks" "$program" train "${words[@]}" --resume auto </dev/null &
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
  names=RUN,PENSTOCK_OUT,PENSTOCK_START
  for name in PENSTOCK PENSTOCK_SCRIPT PENSTOCK_RETRIES; do
    if [ -n "${!name-}" ]; then export "${name?}"; names+=,$name; fi
  done
  qsub -W "depend=afterany:$PBS_JOBID" -v "$names" "${PENSTOCK_SCRIPT:-launch/batch/pbs.sh}" ||
    say "a job cannot be submitted from here: submit it again with --out $out"
fi
exit "$code"
