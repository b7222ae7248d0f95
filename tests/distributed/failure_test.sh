#!/bin/sh
# tests/distributed/failure_test.sh RANKS PROGRAM HOW [STARTS] -- the job ends, soon, and says so by its exit code and words.
# The exact code is not tested: mpirun itself sometimes crashes while it cleans up after a killed rank.
set -u
ranks=$1 program=$2 how=$3 starts=${4:-1}
limit=20  # seconds; a hang is for ever, a clean-up takes about two
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

fail() {
  echo "failure_test $how: $1"
  cat "$log"
  exit 1
}

# Open MPI's mpirun at times warns of its own files after our last line.
last_line() {
  grep -v -e '^\[warn\] Epoll' -e '^$' "$log" | tail -n 1
}

case $how in
  lost)  # what srun without PMIx looks like to each of its processes
    SLURM_STEP_NUM_TASKS=3 timeout -k 5 $limit "$program" none >"$log" 2>&1 ;;
  pmi2)  # ... and srun with what Debian's Open MPI was not built with
    SLURM_NODELIST=n SLURM_JOBID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 PMI_SIZE=3 PMI_RANK=0 timeout -k 5 $limit "$program" none >"$log" 2>&1 ;;
  stranger)  # ... and the mpirun of another MPI
    PMI_SIZE=3 timeout -k 5 $limit "$program" none >"$log" 2>&1 ;;
  *)
    timeout -k 5 $limit "$ranks" -n 3 "$program" "$how" >"$log" 2>&1 ;;
esac
code=$?

[ $code -ne 124 ] || fail "hangs"
[ $code -ne 137 ] || [ "$how" = kill ] || fail "hangs, and mpirun had to be killed"
case $how in
  none)
    [ $code -eq 0 ] || fail "exit code $code"
    grep -q "all 3 ranks have ended well" "$log" || fail "the ranks have not met" ;;
  kill)
    [ $code -ne 0 ] || fail "exit code 0 although a rank was killed"
    if grep -q "ended well" "$log"; then fail "went on without the killed rank"; fi ;;
  throw)
    for start in $(seq "$starts"); do
      if [ "$start" -gt 1 ]; then
        timeout -k 5 $limit "$ranks" -n 3 "$program" throw >"$log" 2>&1
        code=$?
      fi
      [ $code -ne 0 ] || fail "exit code 0 although a rank failed"
      last_line | grep -q "penstock: error: rank 1 has failed" || fail "start $start: the reason is not the last line"
    done ;;
  hang|mail)  # mpirun gives a process that it ends a second, and one that is stopped takes it
    [ $code -eq 4 ] || fail "exit code $code, expected 4"
    if [ "$how" = hang ]; then
      grep -q "penstock: rank 1 .* is stopped by a signal; it is in Forward(1, 5) for [01][.][0-9] s" "$log" || fail "the stopped rank is not named"
    else
      grep -q "penstock: rank 1 .* does not answer" "$log" || fail "the rank that does not answer is not named"
    fi
    grep -q "penstock: rank 2 .* is in Forward(2, 5) for" "$log" || fail "rank 2 is not in the report"
    last_line | grep -q "penstock: error: nothing has moved for .*: rank 1" || fail "the error is not the last line" ;;
  late)
    [ $code -eq 75 ] || fail "exit code $code, expected 75" ;;
  unwind)
    [ $code -ne 0 ] || fail "exit code 0 although a rank failed" ;;
  lost|pmi2)
    [ $code -eq 2 ] || fail "exit code $code, expected 2"
    grep -q "srun --mpi=pmix" "$log" || fail "the cure is not named"
    [ "$(wc -l <"$log")" -eq 1 ] || fail "more than one line" ;;
  stranger)
    [ $code -eq 2 ] || fail "exit code $code, expected 2"
    grep -q "started 3 processes" "$log" || fail "the reason is not named" ;;
  *) fail "unknown case" ;;
esac
