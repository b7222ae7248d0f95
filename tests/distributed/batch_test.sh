#!/usr/bin/env bash
# tests/distributed/batch_test.sh DIRECTORY -- what the job scripts of launch/batch/ start, and what they do with how it ends. What
# starts ranks and what takes jobs are played by a script that writes down its words and takes its exit codes from a list.
set -u
batch=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir bin
export SCRATCH=$scratch PATH=$scratch/bin:$PATH PENSTOCK_BATCH=$batch

cat >bin/player <<'END'
#!/usr/bin/env bash
name=${0##*/}
case "$name $*" in
  'flux getattr size') echo 2; exit ;;
  'flux getattr jobid') echo f7; exit ;;
  'qstat '*) printf 'Job Id: 7.s\n    Resource_List.walltime = 01:30:00\n'; exit ;;
esac
echo "$name $*" >>"$SCRATCH/started"
case "$name ${1-}" in
  'scontrol '* | 'qsub '* | 'flux --parent') env | sort >"$SCRATCH/submitted"; exit ;;
esac
read -r code what <"$SCRATCH/plan"
case $what in
  checkpoint) mkdir -p "$SCRATCH/out/checkpoints/step-1" ;;
  stop) mkdir -p "$SCRATCH/out"; touch "$SCRATCH/out/stop" ;;
  wait) trap 'exit "$code"' USR1; touch "$SCRATCH/ready"; for _ in $(seq 100); do sleep 0.05; done; exit 9 ;;
esac
exit "$code"
END
chmod +x bin/player
for name in mpirun srun jsrun flux scontrol qsub qstat; do ln -s player "bin/$name"; done
printf 'n1\nn1\nn2\nn2\n' >hosts

fail() {
  echo "batch_test: $script: $*"
  cat started output 2>/dev/null
  exit 1
}

# The run as each of them is handed it.
start() {
  case $script in
    slurm) exec env SLURM_JOB_ID=7 SLURM_JOB_NAME=p SLURM_NTASKS=4 SLURM_CPUS_PER_TASK=2 "$batch/slurm.sh" run.toml --out out ;;
    pbs) exec env PBS_JOBID=7.s PBS_JOBNAME=p PBS_O_WORKDIR="$scratch" PBS_NODEFILE=hosts RUN='run.toml --out out' "$batch/pbs.sh" ;;
    lsf) exec env LSB_JOBID=7 LSB_JOBNAME=p LSB_DJOB_NUMPROC=4 LSB_DJOB_HOSTFILE=hosts RUN='run.toml --out out' "$batch/lsf.sh" ;;
    flux) exec env PENSTOCK_RANKS=4 "$batch/flux.sh" run.toml --out out ;;
  esac
}
# with PLAN: runs it; the exit code in $code, what was started in `started`.
with() {
  rm -rf out started
  echo "$1" >plan
  (start) >output 2>&1
  code=$?
}
expect() { # CODE STARTS WHAT; LSF is asked to queue a job again by its exit code, the others by a command
  local starts=$2
  [ "$script" != lsf ] || starts=1
  [ "$code" -eq "$1" ] || fail "$3: exit code $code, not $1"
  [ "$(wc -l <started)" -eq "$starts" ] || fail "$3: not $starts starts"
}

# PBS Pro and Torque refuse each other's words for nodes: the head has both, one of them to be uncommented.
script=pbs
{ grep -q '^#PBS -l select=.*:mpiprocs=' "$batch/pbs.sh" && grep -q '^##PBS -l nodes=.*:ppn=' "$batch/pbs.sh"; } || fail 'nodes for PBS Pro and Torque'

# A copy of a script finds what they share by PENSTOCK_BATCH, below the folder it is started in, and beside the program.
script=slurm
mkdir -p launch share/penstock
PENSTOCK_BATCH=nowhere with 0
{ [ "$code" -eq 2 ] && grep -q 'job.sh is not in .*PENSTOCK_BATCH says' output; } || fail 'a job.sh that is nowhere'
ln -s player bin/penstock
for place in launch/batch share/penstock/batch; do
  cp -r "$batch" "$place"
  for named in '' nowhere; do
    PENSTOCK_BATCH=$named with 0
    expect 0 1 "job.sh in $place"
  done
  rm -r "$place"
done
rm bin/penstock

# A run of several lines is one run; a directory without a name is refused.
for script in pbs lsf; do
  with 0
  before=$(cat started)
  rm -rf out started
  echo 0 >plan
  if [ "$script" = pbs ]; then
    PBS_JOBID=7.s PBS_JOBNAME=p PBS_O_WORKDIR="$scratch" PBS_NODEFILE=hosts RUN=$'run.toml\n--out out' "$batch/pbs.sh" >output 2>&1
  else
    LSB_JOBID=7 LSB_JOBNAME=p LSB_DJOB_NUMPROC=4 LSB_DJOB_HOSTFILE=hosts RUN=$'run.toml\n--out out' "$batch/lsf.sh" >output 2>&1
  fi
  [ "$(cat started)" = "$before" ] || fail 'a run of two lines'
done
script=lsf
rm -f started
LSB_JOBID=7 RUN=' ' "$batch/lsf.sh" >output 2>&1
code=$?
{ [ "$code" -eq 2 ] && grep -q 'there is no run' output && [ ! -e started ]; } || fail 'a run of blanks'
script=slurm
SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" run.toml --out= >output 2>&1
code=$?
{ [ "$code" -eq 2 ] && grep -q 'names no directory' output && [ ! -e started ]; } || fail 'a directory without a name'

# Outside a job, and with a --resume, an --overwrite or a number of retries that would be overruled or not understood, nothing is started.
refused() { # MESSAGE WHAT
  { [ "$code" -eq 2 ] && grep -q -- "$1" output && [ ! -e started ]; } || fail "$2"
}
for script in slurm pbs lsf flux; do
  rm -f started
  words=()
  case $script in slurm | flux) words=(run.toml) ;; esac
  if [ "$script" = flux ]; then mv bin/flux bin/flax; fi
  RUN=run.toml "$batch/$script.sh" "${words[@]}" >output 2>&1
  code=$?
  if [ "$script" = flux ]; then mv bin/flax bin/flux; fi
  refused 'this is not a job of ' 'outside its batch system'
  PENSTOCK_RETRIES=abc with 0
  refused "PENSTOCK_RETRIES is 'abc'" 'retries that are no number'
done
script=slurm
SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" run.toml --resume runs/other >output 2>&1
code=$?
refused '--resume: leave it out' 'a --resume of its own'
for word in --overwrite --run.overwrite=true; do
  SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" run.toml $word >output 2>&1
  code=$?
  refused "$word: leave it out" 'results that every turn would replace'
done
SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" run.toml --overwrite false --run.overwrite=false >output 2>&1
if grep -q 'leave it out' output; then
  echo "--overwrite false is refused"
  exit 1
fi

for script in slurm pbs lsf flux; do
  with 0
  expect 0 1 'done'
  limit=''
  case $script in
    slurm) ranks='srun --mpi=pmix --kill-on-bad-exit=1 -n 4' again='scontrol requeue 7' ;;
    pbs)
      ranks='mpirun --bind-to none -hostfile hosts -n 4' limit=' --time-limit 1:29:00'
      again='qsub -q long -W depend=afterany:7.s -v RUN,PENSTOCK_OUT,PENSTOCK_START,PENSTOCK_BATCH,PENSTOCK_SUBMIT launch/batch/pbs.sh' ;;
    lsf) ranks='mpirun --bind-to none -hostfile hosts -n 4' again='' ;;
    flux) ranks='flux run -N 2 -n 4 --exclusive' again="flux --parent batch -q long $batch/flux.sh run.toml --out out" ;;
  esac
  grep -qx -- "$ranks penstock train run.toml --out out$limit --resume auto" started || fail 'the command'
  PENSTOCK_SUBMIT='-q long' with '75 checkpoint'
  expect 75 2 'a stop with a checkpoint is queued again'
  grep -q 'to go on from out/checkpoints/step-1$' output || fail 'where the next turn begins'
  ! grep -q 'start :' output || fail 'a number of starts that is none'
  [ -z "$again" ] || tail -n 1 started | grep -qx -- "$again" || fail "not: $again"
  case $script in
    pbs | flux) [ "$(grep -cx 'PENSTOCK_OUT=out\|PENSTOCK_START=2' submitted)" -eq 2 ] || fail 'what the next job is told' ;;
  esac
  with '75'
  expect 75 2 'a stop before the first checkpoint is queued again'
  grep -q 'to start again: there is no checkpoint' output || fail 'a next turn that has no checkpoint'
  with '75 stop'
  if [ "$script" = lsf ]; then expect 0 1 'a stop by the file is final'; else expect 75 1 'a stop by the file is final'; fi
  with '2'
  expect 2 1 'a wrong run file is final'
  with '137 checkpoint'
  if [ "$script" = lsf ]; then expect 75 1 'a failure with a checkpoint'; else expect 137 2 'a failure with a checkpoint'; fi
  export SLURM_RESTART_COUNT=9 PENSTOCK_START=9
  with '137'
  unset SLURM_RESTART_COUNT PENSTOCK_START
  expect 137 1 'failures without a new checkpoint have an end'
  # The signal ahead of the limit; that of Flux reaches the ranks by itself.
  if [ "$script" != flux ]; then
    rm -rf out started ready
    echo '75 wait' >plan
    (start) >output 2>&1 &
    while [ ! -e ready ]; do sleep 0.02; done
    kill -USR1 $!
    wait $!
    code=$?
    expect 75 2 'the signal is passed on'
  fi
done
# Turns in a row without a new checkpoint have an end, however often the job was started before; one with a checkpoint begins the
# count again.
script=slurm
export SLURM_RESTART_COUNT=20
for ending in 137 75; do
  rm -rf out
  mkdir out
  for turn in 1 2 3 4 checkpoint 1; do
    rm -rf started
    echo "$ending ${turn//[0-9]/}" >plan
    (start) >output 2>&1
    code=$?
    if [ "$turn" = 4 ]; then expect "$ending" 1 'the fourth turn without a checkpoint'; else expect "$ending" 2 "turn $turn"; fi
  done
done
grep -q 'not queued again (PENSTOCK_RETRIES)' output && fail 'the end of turns, after a checkpoint'
touch out/stop
rm -f started
(start) >output 2>&1
code=$?
{ [ "$code" -eq 75 ] && [ ! -e started ] && grep -q 'out/stop is there' output; } || fail 'a stop while the job waits'
unset SLURM_RESTART_COUNT
# Without --out the directory is the run file's own.
mkdir -p runs/first
touch runs/first/run.json runs/first/run.toml
printf "[run]\n\tout = 'mine too' # and a remark\n" >own.toml
for words in 'runs/first/run.toml runs/first' 'runs/first runs/first' 'own.toml mine too'; do
  rm -f started
  echo 0 >plan
  SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" "${words%% *}" >output 2>&1
  grep -q -- "--out ${words#* } --resume auto" started || fail "the directory of ${words%% *}"
done
ln -sf /bin/false bin/scontrol
echo 75 >plan
SLURM_JOB_ID=7 SLURM_NTASKS=4 "$batch/slurm.sh" run.toml --out 'my out' >output 2>&1
grep -q 'submit it again with --out my\\ out$' output || fail 'a directory with a blank, to be pasted'
ln -sf player bin/scontrol
export PENSTOCK_LAUNCH=mpirun
with 0
grep -q '^mpirun --bind-to none -n 4 penstock' started || fail 'mpirun under Slurm'
echo "batch_test: all is well"
