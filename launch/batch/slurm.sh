#!/bin/bash
# A training run as a Slurm job that goes on after its walltime: docs/batch.md. Submit it from the folder that the run is
# started in:
#
#   sbatch launch/batch/slurm.sh RUNFILE.toml [options of penstock train]
#
# What #SBATCH says here can be said on sbatch's command line instead (`sbatch --nodes 4 --time 1:00:00 launch/batch/slurm.sh ...`).
# The environment may name
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_LAUNCH  srun (an MPI with PMIx, the default) or mpirun
#   PENSTOCK_MPI     srun's --mpi [pmix]; pmi2 for an MPICH that was built with it. `srun --mpi=list` says what there is
#   PENSTOCK_RETRIES how often the job is queued again after failures that left no new checkpoint [3]
#
#SBATCH --job-name=penstock
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
# With GPUs, one for each rank of a node: take away the first # of the next line. Not --gpus-per-task, which hides the GPUs of
# ranks from each other, so that messages between them go through host memory.
##SBATCH --gpus-per-node=4
set -u

say() { echo "slurm.sh: $*" >&2; }

[ $# -ge 1 ] || { say "there is no run file: sbatch launch/batch/slurm.sh RUNFILE.toml [options]"; exit 2; }
program=${PENSTOCK:-build/release/bin/penstock}
if [ -z "${PENSTOCK-}" ] && [ ! -x "$program" ]; then program=penstock; fi
ranks=${SLURM_NTASKS:-1}

# The run directory has the job's number, which stays when the job is queued again.
out=runs/${SLURM_JOB_NAME:-penstock}-$SLURM_JOB_ID
named=()
for ((i = 1; i <= $#; ++i)); do
  case ${!i} in
    --out | --run.out) next=$((i + 1)); out=${!next-} named=(yes) ;;
    --out=* | --run.out=*) out=${!i#*=} named=(yes) ;;
  esac
done
[ ${#named[@]} -gt 0 ] || set -- "$@" --out "$out"

case ${PENSTOCK_LAUNCH:-srun} in
  srun)
    # Since Slurm 22.05 srun asks for one core a rank unless it is told again.
    [ -z "${SLURM_CPUS_PER_TASK-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
    start=(srun "--mpi=${PENSTOCK_MPI:-pmix}" --kill-on-bad-exit=1 -n "$ranks") ;;
  mpirun)
    # A host whose cable is cut is noticed after 10 s instead of 488.
    export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=3
    start=(mpirun -q --bind-to none -n "$ranks") ;;
  *) say "PENSTOCK_LAUNCH is srun or mpirun, not '$PENSTOCK_LAUNCH'"; exit 2 ;;
esac

newest() { find "$out/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1; }

# Slurm tells this shell, two minutes before the end, and it tells the ranks: they finish their step, write a checkpoint and
# end with code 75. SIGTERM is scancel, which tells the ranks itself.
child='' cancelled=no
trap '[ -z "$child" ] || kill -USR1 "$child"' USR1
trap 'cancelled=yes' TERM

before=$(newest)
say "job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): $ranks ranks, run directory $out"
"${start[@]}" "$program" train "$@" --resume auto </dev/null &
child=$!
while kill -0 "$child" 2>/dev/null; do wait "$child"; done # a signal ends a wait, too
wait "$child"
code=$?

# go_on: whether this job is worth another turn in the queue.
go_on() {
  [ "$cancelled" = no ] && [ ! -e "$out/stop" ] || return 1
  case $code in
    0 | 2 | 5 | 6) return 1 ;; # done; a wrong run file, damaged data and a loss that is not finite stay as they are
    75) return 0 ;;
  esac
  [ "$(newest)" != "$before" ] || [ "${SLURM_RESTART_COUNT:-0}" -lt "${PENSTOCK_RETRIES:-3}" ]
}
if go_on; then
  say "exit code $code: queued again, to go on from $(newest)"
  scontrol requeue "$SLURM_JOB_ID" || say "this cluster does not requeue the job: submit it again with --out $out"
fi
exit "$code"
