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

say() { echo "lsf.sh: $*" >&2; }

[ -n "${RUN-}" ] || { say "there is no run: RUN='RUNFILE.toml [options]' bsub <launch/batch/lsf.sh"; exit 2; }
read -ra words <<<"$RUN"
program=${PENSTOCK:-build/release/bin/penstock}
if [ -z "${PENSTOCK-}" ] && [ ! -x "$program" ]; then program=penstock; fi
ranks=${LSB_DJOB_NUMPROC:-1}

# The run directory has the job's number, which stays when the job is queued again.
out=runs/${LSB_JOBNAME:-penstock}-$LSB_JOBID named=no
for ((i = 0; i < ${#words[@]}; ++i)); do
  case ${words[i]} in
    --out | --run.out) out=${words[i + 1]-} named=yes ;;
    --out=* | --run.out=*) out=${words[i]#*=} named=yes ;;
  esac
done
[ "$named" = yes ] || words+=(--out "$out")

case ${PENSTOCK_LAUNCH:-mpirun} in
  mpirun)
    # An Open MPI without LSF's library, such as Debian's, is told the hosts, and reaches them by LSF. A host whose cable is cut is
    # noticed after 10 s instead of 488.
    export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=3
    if command -v blaunch >/dev/null; then export OMPI_MCA_plm_rsh_agent=blaunch; fi
    start=(mpirun -q --bind-to none -hostfile "$LSB_DJOB_HOSTFILE" -n "$ranks") ;;
  jsrun) start=(jsrun -n "$ranks" -a 1 -c 8 -b packed:8) ;; # with GPUs also -g 1
  *) say "PENSTOCK_LAUNCH is mpirun or jsrun, not '$PENSTOCK_LAUNCH'"; exit 2 ;;
esac

newest() { find "$out/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1; }

# LSF signals the job two minutes before its limit (-wa, -wt): the ranks finish their step, write a checkpoint and end with code 75,
# for which LSF queues the job again (-Q). SIGTERM is bkill.
child='' cancelled=no
trap '[ -z "$child" ] || kill -USR1 "$child"' USR1 USR2
trap 'cancelled=yes; [ -z "$child" ] || kill -USR1 "$child"' TERM INT

before=$(newest)
say "job $LSB_JOBID: $ranks ranks, run directory $out"
"${start[@]}" "$program" train "${words[@]}" --resume auto </dev/null &
child=$!
while kill -0 "$child" 2>/dev/null; do wait "$child"; done # a signal ends a wait, too
wait "$child"
code=$?

# go_on: whether this job is worth another turn in the queue. LSF does not count them, so a failure is only when it left something
# to go on from.
go_on() {
  [ "$cancelled" = no ] && [ ! -e "$out/stop" ] || return 1
  case $code in
    0 | 2 | 5 | 6) return 1 ;; # done; a wrong run file, damaged data and a loss that is not finite stay as they are
    75) return 0 ;;
  esac
  [ "$(newest)" != "$before" ]
}
if go_on; then
  say "exit code $code: queued again, to go on from $(newest)"
  exit 75
fi
if [ "$code" -eq 75 ]; then
  say "stopped on request: submit it again with --out $out to go on"
  exit 0 # 75 would be queued again
fi
exit "$code"
