#!/bin/sh
# tests/unit/launch/processor_test.sh PROGRAM -- a program for another processor says so in one line and ends with code 3, before
# the first constructor of its own and of its libraries; of the ranks of a host one speaks.
set -u
program=$1

fail() {
  echo "processor_test: $1: '$said', exit code $code"
  exit 1
}
run() {
  said=$("$@" 2>&1)
  code=$?
}

run env -u SLURM_LOCALID OMPI_COMM_WORLD_LOCAL_RANK=0 "$program"
[ "$code" -eq 3 ] || fail 'ends with 3'
case $said in
  *'has begun'*) fail 'ran before it was looked at' ;;
  'penstock: error: host '*'-DPENSTOCK_ARCH=x86-64-v99 for a processor that has avx512-of-tomorrow; '*'compile it with -DPENSTOCK_ARCH=x86-64-v3'*) ;;
  *) fail 'the reason and the cure' ;;
esac
[ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] || fail 'one line'
run env OMPI_COMM_WORLD_LOCAL_RANK=1 "$program"
if [ "$code" -ne 3 ] || [ -n "$said" ]; then fail 'the second rank of a host is silent'; fi
