#!/usr/bin/env bash
# tests/distributed/supervise_test.sh SUPERVISE -- what launch/supervise.sh starts after what. mpirun is played by a script
# that takes its exit codes, and what else happens, from a list.
set -u
supervise=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

cat >mpirun <<'END'
#!/usr/bin/env bash
echo "$*" >>"$SCRATCH/started"
line=$(head -n 1 "$SCRATCH/plan")
sed -i 1d "$SCRATCH/plan"
read -r code what <<<"$line"
case $what in
  checkpoint) mkdir -p "$SCRATCH/out/checkpoints/step-$(printf %08d "$(wc -l <"$SCRATCH/started")")"; touch "$SCRATCH/out/run.json" ;;
  begin) mkdir -p "$SCRATCH/out"; touch "$SCRATCH/out/run.json" ;;
  audit) mkdir -p "$SCRATCH/out"; touch "$SCRATCH/out/run.json"; echo n2.cluster >>"$SCRATCH/out/excluded_hosts" ;;
  hang) sleep 60 & trap "kill $!" EXIT; trap 'exit 143' TERM; wait $! ;;
  locked) mkdir -p "$SCRATCH/out"; echo "$RANDOM" >"$SCRATCH/out/run.lock"; sleep 3 ;;
  wait) trap 'exit "$code"' USR1; for _ in $(seq 100); do sleep 0.05; done ;;
esac
exit "$code"
END
chmod +x mpirun
export SCRATCH=$scratch

fail() {
  echo "supervise_test: $*"
  cat started output
  exit 1
}

# with PLAN ARGUMENTS...: runs it; the exit code in $code, what was started in `started`.
with() {
  rm -rf out started stop
  printf '%b' "$1" >plan
  shift
  "$supervise" --delay 0 --mpirun "$scratch/mpirun -q" --program penstock "$@" >output 2>&1
  code=$?
}
expect() { # CODE STARTS WHAT
  [ "$code" -eq "$1" ] || fail "$3: exit code $code, not $1"
  [ "$(wc -l <started)" -eq "$2" ] || fail "$3: $(wc -l <started) starts, not $2"
}

with '0\n' --ranks 3 -- run.toml --out out
expect 0 1 'done at once'
grep -qx -- '-q -n 3 penstock train run.toml --out out --resume auto' started || fail 'the command'
with '137\n4\n0\n' -- run.toml --out out
expect 0 3 'a killed rank and a hang'
for final in 2 5 6; do
  with "$final\n" -- run.toml --out out
  expect "$final" 1 'not to be tried again'
done
with '4\n4\n4\n4\n' --restarts 2 -- run.toml --out out
expect 4 3 'the limit'
with '4 checkpoint\n4\n4 checkpoint\n4\n4\n' --restarts 2 -- run.toml --out=out
expect 4 5 'a checkpoint begins the count anew'
with '75 checkpoint\n0\n' --shortest 0 -- run.toml --out out
expect 0 2 'a stop is gone on from'
with '75 checkpoint\n0\n' -- run.toml --out out
expect 75 1 'a stop right after the start is final'
printf '3\n2\n2\n' >ranks
with '137 begin\n137\n0\n' --ranks-command "head -n 1 ranks; sed -i 1d ranks" -- run.toml --out out --stages 3 --time-limit 90
expect 0 3 'fewer ranks'
grep -qx -- '-q -n 2 penstock train out/run.toml --pipeline.auto true --time-limit=90 --resume auto' started || fail 'no new plan'
# As many ranks once more: the arguments are those of another plan.
tail -n 1 started | grep -qx -- '-q -n 2 penstock train out/run.toml --time-limit=90 --resume auto' || fail 'the new plan is forgotten'
with '0\n' --ranks-command 'printf "# hosts\nn1 slots=4\nn2 slots=3 max_slots=4\nn3\n"' -- run.toml --out out
grep -q -- '-n 8 --hostfile ' started || fail 'a hostfile'

# Hosts that are lost: `up` says who answers.
cat >reach <<'END'
#!/bin/sh
grep -qx "$1" "$SCRATCH/up"
END
chmod +x reach
hosts='printf "n1 slots=4\nn2 slots=3\nn3\n"'
printf 'n1\nn3\n' >up
with '205\n0\n' --reach ./reach --ranks-command "$hosts" -- run.toml --out out
expect 0 2 'a lost host'
[ "$(sed -n 's/^-q -n \([0-9]*\) .*/\1/p' started | paste -sd ' ')" = '8 5' ] || fail 'a host that does not answer is kept, or left out at once'
grep -q 'left out, as they do not answer: n2$' output || fail 'the lost host is not named'
: >up # where no host can be asked in this way
with '205\n0\n' --reach ./reach --ranks-command "$hosts" -- run.toml --out out
[ "$(grep -c -- '-n 8 ' started)" -eq 2 ] || fail 'hosts are left out although none ever answered'

# Hosts whose bits are wrong.
with '0\n' --exclude 'n1 n3' --ranks-command "$hosts" -- run.toml --out out
grep -q -- '-n 3 --hostfile ' started || fail 'excluded hosts are used'
grep -q 'left out, as they are excluded: n1 n3$' output || fail 'excluded hosts are not named'
with '75 audit\n0\n' --ranks-command "$hosts" -- run.toml --out out
expect 0 2 'a host that an audit excludes'
[ "$(sed -n 's/^-q -n \([0-9]*\) .*/\1/p' started | paste -sd ' ')" = '8 5' ] || fail 'a host that an audit excludes is used again'
with '75 audit\n0\n' --ranks 3 -- run.toml --out out
expect 75 1 'a host that cannot be left out'

# A rank that died inside MPI's start, for which mpirun waits; and one that starts, however long it then takes.
with '0 hang\n0 locked\n' --start-limit 1 -- run.toml --out out
expect 0 2 'a start that hangs'
grep -q 'no rank has taken the lock of the run directory within 1 s' output || fail 'the limit of the start is not named'
[ "$(grep -c 'no rank has taken' output)" -eq 1 ] || fail 'a run that has started is ended by the limit of the start'

printf '75 wait\n0\n' >plan
rm -f started
"$supervise" --shortest 0 --mpirun "$scratch/mpirun" --program penstock -- run.toml --out out >output 2>&1 &
while [ ! -s started ]; do sleep 0.05; done
sleep 0.2
kill -TERM $!
wait $!
code=$?
expect 75 1 'a stop that was asked for is final'
"$supervise" --ranks x -- run.toml >output 2>&1
[ $? -eq 2 ] || fail 'a wrong option'
echo "supervise_test: all is well"
