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
script=slurm.sh

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

[ $# -ge 1 ] || { say "there is no run file: sbatch launch/batch/slurm.sh RUNFILE.toml [options]"; exit 2; }
in_a_job SLURM_JOB_ID Slurm 'sbatch launch/batch/slurm.sh RUNFILE.toml [options]'
ranks=${SLURM_NTASKS:-1} job=$SLURM_JOB_ID start=$((${SLURM_RESTART_COUNT:-0} + 1))
# The run directory has the job's number, which stays when the job is queued again.
out=runs/${SLURM_JOB_NAME:-penstock}-$job
take_words "$@"

case ${PENSTOCK_LAUNCH:-srun} in
  srun)
    # Since Slurm 22.05 srun asks for one core a rank unless it is told again.
    [ -z "${SLURM_CPUS_PER_TASK-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
    command=(srun "--mpi=${PENSTOCK_MPI:-pmix}" --kill-on-bad-exit=1 -n "$ranks") ;;
  mpirun)
    tell_mpirun ''
    command=(mpirun --bind-to none -n "$ranks") ;;
  *) say "PENSTOCK_LAUNCH is srun or mpirun, not '$PENSTOCK_LAUNCH'"; exit 2 ;;
esac

# Slurm signals this shell two minutes before the end. SIGTERM is scancel, which tells the ranks itself, too.
run_job "${command[@]}"
if worth_another_turn; then
  say "exit code $code: queued again, $(onward)"
  scontrol requeue "$job" || say "this cluster does not requeue the job: submit it again with $(again)"
fi
exit "$code"
