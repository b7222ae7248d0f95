#!/bin/bash
# A training run as an LSF job that goes on after its run limit: docs/batch.md. LSF reads #BSUB from standard input, where there
# are no arguments, so the run comes in a variable. Submit it from the folder that the run is started in:
#
#   RUN='RUNFILE.toml [options of penstock train]' bsub <launch/batch/lsf.sh
#
# What #BSUB says here can be said on bsub's command line instead. The environment may name
#   PENSTOCK         the program [build/release/bin/penstock below the folder, or that of PATH]
#   PENSTOCK_LAUNCH  mpirun (the default) or jsrun, with the Spectrum MPI that penstock was then built with
#
#BSUB -J penstock
#BSUB -n 8
#BSUB -R "span[ptile=4] affinity[core(8)]"
#BSUB -W 4:00
#BSUB -wa USR1
#BSUB -wt 2
#BSUB -Q "75"
#BSUB -oo penstock-%J.log
# With GPUs, one for each rank of a host: take away the first # of the next line.
##BSUB -gpu "num=4:mode=shared"
set -u
script=lsf.sh

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

in_a_job LSB_JOBID LSF "RUN='RUNFILE.toml [options]' bsub <launch/batch/lsf.sh"
read -rd '' -a words <<<"${RUN-}" || true # of all lines
[ ${#words[@]} -gt 0 ] || { say "there is no run: RUN='RUNFILE.toml [options]' bsub <launch/batch/lsf.sh"; exit 2; }
ranks=${LSB_DJOB_NUMPROC:-1} job=$LSB_JOBID start='' # LSF does not count starts
# The run directory has the job's number, which stays when the job is queued again.
out=runs/${LSB_JOBNAME:-penstock}-$job
take_words "${words[@]}"

case ${PENSTOCK_LAUNCH:-mpirun} in
  mpirun)
    # An Open MPI without LSF's library, such as Debian's, is told the hosts, and reaches them by LSF.
    tell_mpirun blaunch
    command=(mpirun --bind-to none -hostfile "$LSB_DJOB_HOSTFILE" -n "$ranks") ;;
  jsrun) command=(jsrun -n "$ranks" -a 1 -c 8 -b packed:8) ;; # with GPUs also -g 1
  *) say "PENSTOCK_LAUNCH is mpirun or jsrun, not '$PENSTOCK_LAUNCH'"; exit 2 ;;
esac

# LSF signals the job two minutes before its limit (-wa, -wt), and queues it again for exit code 75 (-Q). SIGTERM is bkill.
run_job "${command[@]}"
if worth_another_turn; then
  say "exit code $code: queued again, $(onward)"
  exit 75
fi
if [ "$code" -eq 75 ]; then
  say "stopped on request: submit it again with $(again) to go on"
  exit 0 # 75 would be queued again
fi
exit "$code"
