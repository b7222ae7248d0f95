#!/usr/bin/env bash
# launch/supervise.sh -- keeps a training run going: starts it, and starts it again from its newest complete checkpoint
# when it has failed, on the ranks that there are then.
set -u

usage() {
  cat <<'END'
usage: launch/supervise.sh [options] -- RUNFILE.toml [options of penstock train]

Trains with `--resume auto`. After a failure (a killed rank, a lost host, a hang) it waits, asks how many ranks there
are now, and goes on from the newest complete checkpoint; for another number of ranks the stages, replicas and the
schedule are planned anew, for the same mini-batch. Where copies in memory are newer (`checkpoint.partner`), the run
goes on from those that the hosts left have. A stop that left a checkpoint (exit code 75) is gone on from at
once, unless this script was told to stop, the run directory has a file `stop`, or the attempt was a short one.

  --ranks N            how many to start [1]
  --ranks-command CMD  asked before every attempt: prints a number of ranks, or the lines of a hostfile (`n7 slots=4`)
  --reach 'WORDS'      asks a host of such lines whether it is there, by `WORDS HOST true`: after a failure those that do
                       not answer are left out [ssh -o BatchMode=yes -o ConnectTimeout=5]
  --exclude 'HOSTS'    left out of those lines; so are the hosts whose bits an audit found to be wrong, which stand in
                       excluded_hosts of the run directory (run.on_corruption = "exclude") []
  --restarts N         failures one after the other, without a new checkpoint between them, after which it gives up [5]
  --delay SECONDS      before it starts again after a failure [10]
  --start-limit SECONDS
                       an attempt that has not taken the lock of its run directory by then is ended, and counts as a failure:
                       mpirun waits for ever for a rank that died inside MPI's own start; 0: no limit [900]
  --shortest SECONDS   a stop (75) sooner than this after the start is final: the time of the job is over [60]
  --mpirun 'WORDS'     what starts the ranks, split at blanks [mpirun --bind-to none]
  --program PATH       [the one built or installed here, else that of PATH]

SIGTERM, SIGUSR1, SIGUSR2 and Ctrl-C are passed on as a request to stop with a checkpoint; a second one ends the run
at once. Exit code: that of the last attempt; 2, 5 (damaged data) and 6 (not finite) are never tried again.
END
}

say() { echo "supervise: $*" >&2; }

refuse() {
  say "$*; see launch/supervise.sh --help"
  exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ranks=1 ranks_command='' exclude='' restarts=5 delay=10 start_limit=900 shortest=60 mpirun='mpirun --bind-to none' program=''
reach='ssh -o BatchMode=yes -o ConnectTimeout=5'
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --ranks | --ranks-command | --exclude | --reach | --restarts | --delay | --start-limit | --shortest | --mpirun | --program)
      [ $# -ge 2 ] || refuse "$1 needs a value"
      name=${1#--}
      printf -v "${name//-/_}" '%s' "$2"
      shift ;;
    *) refuse "unknown option '$1'" ;;
  esac
  shift
done
[ "${1-}" = -- ] || refuse "the run file comes after --"
shift
[ $# -ge 1 ] || refuse "there is no run file after --"
for number in "$ranks" "$restarts" "$delay" "$start_limit" "$shortest"; do
  case $number in '' | *[!0-9]*) refuse "'$number' is not a number" ;; esac
done
run_file=$1
arguments=("$@")
if [ -z "$program" ]; then
  program=penstock
  # Built in this tree, or installed beside this script.
  for built in "$here/build/release/bin/penstock" "$here/../bin/penstock"; do
    [ ! -x "$built" ] || { program=$(realpath "$built"); break; }
  done
fi
read -ra start <<<"$mpirun"
# Open MPI notices a host whose cable is cut after 10 s instead of 488.
export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-5}
export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-2}
export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-3}
export OMPI_MCA_orte_execute_quiet=1  # mpirun's own words on failures; its option -q is none of Open MPI 5
read -ra ask <<<"$reach"

# The directory that --out or the run file names for the run. Empty: penstock numbers one.
named_directory() {
  local i out=''
  for ((i = 1; i < ${#arguments[@]}; i++)); do
    case ${arguments[i]} in
      --out | --run.out) out=${arguments[i + 1]-} ;;
      --out=* | --run.out=*) out=${arguments[i]#*=} ;;
    esac
  done
  if [ -z "$out" ] && [ -d "$run_file" ]; then out=$run_file; fi
  if [ -z "$out" ] && [ -e "$(dirname "$run_file")/run.json" ]; then out=$(dirname "$run_file"); fi
  if [ -z "$out" ]; then
    out=$(sed -nE "s/^[[:space:]]*(run[.])?out[[:space:]]*=[[:space:]]*[\"']([^\"']*)[\"'].*/\2/p" "$run_file" 2>/dev/null | head -n 1)
  fi
  printf '%s\n' "$out"
}

# The run's directory: the named one, or the newest of those that penstock numbers. Empty: there is none yet.
run_directory() {
  local out
  out=$(named_directory)
  if [ -z "$out" ]; then
    out=$(find runs -mindepth 1 -maxdepth 1 -type d -name "$(basename "$run_file" .toml)-[0-9]*" 2>/dev/null | sort -V | tail -n 1)
  fi
  if [ -n "$out" ] && [ -e "$out/run.json" ]; then printf '%s\n' "$out"; fi
}

newest_step() {
  local directory
  directory=$(run_directory)
  [ -z "$directory" ] || find "$directory/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1
}

# The words in the locks of all directories that may be the run's: each attempt writes others, as soon as its ranks have met.
locks() {
  local out
  out=$(named_directory)
  if [ -n "$out" ]; then
    cat "$out/run.lock" 2>/dev/null
  else
    cat "runs/$(basename "$run_file" .toml)-"[0-9]*/run.lock 2>/dev/null
  fi
}

# end_without_start CHILD LOCKS: ends it when the limit of the start is over and the locks are still those.
end_without_start() {
  local end=$((SECONDS + start_limit)) i
  while [ "$SECONDS" -lt "$end" ]; do
    sleep 1
    kill -0 "$1" 2>/dev/null || return 0
    [ "$(locks)" = "$2" ] || return 0
  done
  say "no rank has taken the lock of the run directory within $start_limit s (--start-limit): a rank may have died inside MPI's start; ended"
  kill -TERM "$1" 2>/dev/null
  for ((i = 0; i < 10; i++)); do
    sleep 1
    kill -0 "$1" 2>/dev/null || return 0
  done
  kill -KILL "$1" 2>/dev/null
}

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
hostfile=$scratch/hosts

# The hosts of $hostfile but this one.
others() { awk '!/^ *(#|$)/ { print $1 }' "$hostfile" | grep -vxF -e localhost -e "$(uname -n)" | sort -u; }

# The other hosts that answer, asked all at once.
answering() {
  local host
  for host in $(others); do
    (timeout 10 "${ask[@]}" "$host" true </dev/null >/dev/null 2>&1 && echo "$host") &
  done
  wait
}

# Silence means nothing until one host has answered: perhaps hosts cannot be asked in this way.
asking_works=no
leave_out_silent_hosts() {
  local silent
  answering | sort >"$scratch/answered"
  [ ! -s "$scratch/answered" ] || asking_works=yes
  silent=$(others | comm -23 - "$scratch/answered")
  # The first attempt starts on all hosts: mpirun says what is wrong with them.
  if [ "$asking_works" = no ] || [ -z "$silent" ] || [ "$planned_for" -eq 0 ]; then return 0; fi
  say "left out, as they do not answer: ${silent//$'\n'/ }"
  awk -v silent="$silent" 'BEGIN { split(silent, names); for (i in names) out[names[i]] } !($1 in out)' "$hostfile" >"$scratch/left"
  mv "$scratch/left" "$hostfile"
}

# Hosts that nothing is started on.
excluded() {
  local directory
  directory=$(run_directory)
  tr -s ' ' '\n' <<<"$exclude"
  [ -z "$directory" ] || cat "$directory/excluded_hosts" 2>/dev/null
}

# A name counts with and without its domain.
leave_out_excluded_hosts() {
  awk 'function short(name) { sub(/[.].*/, "", name); return name }
       NR == FNR { if ($1 != "") out[short($1)]; next }
       short($1) in out { print $1 > "/dev/stderr"; next }
       { print }' <(excluded) "$hostfile" >"$scratch/left" 2>"$scratch/excluded"
  [ ! -s "$scratch/excluded" ] || say "left out, as they are excluded: $(paste -sd ' ' "$scratch/excluded")"
  mv "$scratch/left" "$hostfile"
}

planned_for=0 # ranks of the last attempt
anew=no       # whether the run file in the run directory has a plan that the arguments do not know

# Sets `ranks`, and `where` to what mpirun needs beside it.
where=()
count_ranks() {
  [ -n "$ranks_command" ] || return 0
  local answer
  answer=$(sh -c "$ranks_command") || { say "the ranks' command failed: $ranks_command"; return 1; }
  case $answer in
    '') say "the ranks' command printed nothing: $ranks_command"; return 1 ;;
    *[!0-9]*)
      printf '%s\n' "$answer" >"$hostfile"
      leave_out_excluded_hosts
      leave_out_silent_hosts
      where=(--hostfile "$hostfile")
      ranks=$(awk '!/^ *(#|$)/ { n = 1; for (i = 2; i <= NF; ++i) if ($i ~ /^slots=/) n = substr($i, 7); sum += n } END { print sum + 0 }' "$hostfile") ;;
    *) ranks=$answer where=() ;;
  esac
  [ "$ranks" -gt 0 ] || { say "there are no ranks now"; return 1; }
}

child='' asked=0
pass_on() {
  asked=$((asked + 1))
  [ -n "$child" ] || return 0
  if [ "$asked" -eq 1 ]; then
    say "$1: the run stops after its step, with a checkpoint; once more ends it at once"
    kill -USR1 "$child" 2>/dev/null
  else
    kill -TERM "$child" 2>/dev/null
  fi
}
for signal in TERM USR1 USR2 INT; do
  # shellcheck disable=SC2064  # the name of the signal is known now
  trap "pass_on SIG$signal" "$signal"
done

# The words of the arguments that say when to stop: a run directory keeps no time limit.
limit_words() {
  local i
  for ((i = 1; i < ${#arguments[@]}; i++)); do
    case ${arguments[i]} in
      --time-limit | --run.time_limit) printf '%s\n' "${arguments[i]}=${arguments[i + 1]-}" ;;
      --time-limit=* | --run.time_limit=*) printf '%s\n' "${arguments[i]}" ;;
    esac
  done
}

# One attempt; its exit code is returned.
attempt() {
  local words=("${arguments[@]}") directory locks_before watch='' limit
  mapfile -t limit < <(limit_words)
  directory=$(run_directory)
  # What the command line says is kept by a plan, so a run that is planned anew is read from its directory alone; and so
  # from then on.
  if [ "$planned_for" -ne 0 ] && [ "$planned_for" -ne "$ranks" ] && [ -n "$directory" ]; then
    say "$ranks ranks now, $planned_for before: planned anew"
    anew=yes
    words=("$directory/run.toml" --pipeline.auto true "${limit[@]}")
  elif [ "$anew" = yes ]; then
    words=("$directory/run.toml" "${limit[@]}")
  fi
  planned_for=$ranks
  locks_before=$(locks)
  "${start[@]}" -n "$ranks" "${where[@]}" "$program" train "${words[@]}" --resume auto </dev/null &
  child=$!
  if [ "$start_limit" -gt 0 ]; then
    end_without_start "$child" "$locks_before" &
    watch=$!
  fi
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done # a signal ends a wait, too
  wait "$child"
  local code=$?
  [ -z "$watch" ] || kill "$watch" 2>/dev/null
  child=''
  return "$code"
}

failures=0
while :; do
  before=$(newest_step)
  excluded_before=$(excluded | wc -l)
  began=$SECONDS
  if count_ranks; then
    attempt
    code=$?
  else
    code=3
  fi
  case $code in
    0 | 2 | 5 | 6) exit "$code" ;;
    75)
      directory=$(run_directory)
      if [ "$asked" -eq 0 ] && [ "$(excluded | wc -l)" -gt "$excluded_before" ]; then
        say "an audit has found wrong bits on a host: $(tail -n 1 "$directory/excluded_hosts")"
        if [ ${#where[@]} -gt 0 ]; then continue; fi
        say "only of hosts that --ranks-command prints one can be left out"
        exit 75
      fi
      if [ "$asked" -gt 0 ] || [ -e "${directory:-.}/stop" ] || [ $((SECONDS - began)) -lt "$shortest" ]; then exit 75; fi
      failures=0
      say "stopped with a checkpoint; going on"
      continue ;;
  esac
  [ "$asked" -eq 0 ] || exit "$code"
  if [ "$(newest_step)" != "$before" ]; then failures=0; fi
  failures=$((failures + 1))
  if [ "$failures" -gt "$restarts" ]; then
    say "exit code $code, $failures times without a new checkpoint: giving up"
    exit "$code"
  fi
  lost=''
  [ "$code" -ne 205 ] || lost=' (mpirun has lost a host)'
  say "exit code $code$lost; failure $failures of at most $restarts in a row, again in $delay s"
  sleep "$delay" &
  wait $!
  [ "$asked" -eq 0 ] || exit "$code"
done
