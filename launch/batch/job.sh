# What the job scripts beside this have in common; they source it. A script first looks for this file (batch systems run a copy of the
# script from a folder of their own), then says what its batch system calls things, and then starts the ranks by run_job.
#
# It is looked for in PENSTOCK_BATCH, in launch/batch below the folder that the job is started in, and then beside the program:
# in share/penstock/batch of an installed one, in launch/batch of the source tree of one in build/NAME/bin.
# shellcheck shell=bash disable=SC2034,SC2154 # what one of the two sets and the other reads

say() { echo "$script: $*" >&2; } # script: the sourcing one's name

# in_a_job VARIABLE SYSTEM LINE: ends the script where VARIABLE, which has a value in the jobs of SYSTEM alone, has none. LINE is the
# command that submits one.
in_a_job() {
  [ -z "${!1-}" ] || return 0
  say "this is not a job of $2: submit it by $3"
  exit 2
}

# out_of RUNFILE: the directory of the run where the file lies in one, else what the file says of `out`; nothing where it says none.
out_of() {
  local run_file=$1
  if [ -d "$run_file" ]; then run_file=$run_file/run.toml; fi
  if [ -e "$(dirname "$run_file")/run.json" ]; then dirname "$run_file"; return; fi
  sed -nE "s/^[[:space:]]*(run[.])?out[[:space:]]*=[[:space:]]*[\"']([^\"']*)[\"'].*/\2/p" "$run_file" 2>/dev/null | head -n 1
}

# take_words WORD...: the run as words for penstock train, into words, with --out at the end where they name no directory: that of
# the run file (out_of), or the one that `out` has. Sets out to that directory, and limited to whether they say when to stop. Ends the
# script where they say --resume, which is this script's own, or --overwrite, or PENSTOCK_RETRIES is no number.
take_words() {
  words=("$@") limited=no
  local named=no i its_own
  its_own=$(out_of "$1")
  [ -z "$its_own" ] || out=$its_own
  for ((i = 0; i < ${#words[@]}; ++i)); do
    case ${words[i]} in
      --out | --run.out) out=${words[i + 1]-} named=yes ;;
      --out=* | --run.out=*) out=${words[i]#*=} named=yes ;;
      --time-limit | --time-limit=* | --run.time_limit | --run.time_limit=*) limited=yes ;;
      --resume | --resume=* | --run.resume | --run.resume=*)
        say "${words[i]}: leave it out. A job goes on from its own run directory by itself (--resume auto); --out names that of another run"
        exit 2 ;;
      --overwrite=false | --run.overwrite=false) ;;
      --overwrite | --overwrite=* | --run.overwrite | --run.overwrite=*)
        [ "${words[i + 1]-}" != false ] || continue
        say "${words[i]}: leave it out. A job that is queued again would replace what it has done; --out names another directory"
        exit 2 ;;
    esac
  done
  case ${PENSTOCK_RETRIES:-3} in
    *[!0-9]*) say "PENSTOCK_RETRIES is '$PENSTOCK_RETRIES', and must be a whole number"; exit 2 ;;
  esac
  [ -n "$out" ] || { say "--out names no directory: a job that is queued again would never find its checkpoints"; exit 2; }
  [ "$named" = yes ] || words+=(--out "$out")
}

# tell_mpirun TOOL: Open MPI's mpirun then notices a host whose cable is cut after 10 s instead of 488, leaves out its own words on
# failures (by -q, too, which Open MPI 5 does not know), and reaches hosts by the batch system's TOOL, where it has one (else '').
tell_mpirun() {
  export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=3
  export OMPI_MCA_orte_execute_quiet=1
  if [ -n "$1" ] && command -v "$1" >/dev/null; then export OMPI_MCA_plm_rsh_agent=$1; fi
}

# again: the words for --out by which a job that is submitted again goes on, to be pasted.
again() { printf -- '--out %q' "$out"; }
newest() { find "$out/checkpoints/" -mindepth 1 -maxdepth 1 -name 'step-*' 2>/dev/null | sort | tail -n 1; }

# onward: what the next turn begins with, for messages.
onward() {
  local from
  from=$(newest)
  if [ -n "$from" ]; then echo "to go on from $from"; else echo 'to start again: there is no checkpoint on disk yet'; fi
}

# run_job COMMAND...: starts the ranks with `words` and waits for their end. SIGUSR1 to this shell is passed on, so that they finish
# their step, write a checkpoint and end with code 75; SIGTERM is somebody who cancels the job, after which it is not queued again.
# Sets code to their exit code.
run_job() {
  local child=''
  # shellcheck disable=SC2317 # by the traps
  tell_ranks() { [ "$signals_reach_ranks" = yes ] || [ -z "$child" ] || kill -USR1 "$child"; }
  trap tell_ranks USR1 USR2
  trap 'cancelled=yes; tell_ranks' TERM INT HUP
  cancelled=no before=$(newest)
  if [ -n "$start" ] && [ "$start" -gt 1 ] && [ -e "$out/stop" ]; then
    say "$out/stop is there: somebody has asked the run to stop while the job waited"
    code=75
    return
  fi
  say "job $job${start:+, start $start}: $ranks ranks, run directory $out"
  "$@" "$program" train "${words[@]}" --resume auto </dev/null &
  child=$!
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done # a signal ends a wait, too
  wait "$child"
  code=$?
}
signals_reach_ranks=no # by themselves; then this shell has only to outlive them

# worth_another_turn: whether the job is to be queued again. A turn that left no new checkpoint is worth it PENSTOCK_RETRIES times in
# a row, which are counted in the run directory; a failure of that kind never is where the batch system does not count starts (`start`
# is empty), since nobody then knows that it ends.
worth_another_turn() {
  [ "$cancelled" = no ] && [ ! -e "$out/stop" ] || return 1
  case $code in
    0 | 2 | 5 | 6) return 1 ;; # done; a wrong run file, damaged data and a loss that is not finite stay as they are
  esac
  if [ "$(newest)" != "$before" ]; then
    rm -f "$out/turns_without_checkpoint"
    return 0
  fi
  [ "$code" -eq 75 ] || [ -n "$start" ] || return 1
  local turns=${start:-1} # where there is no run directory yet
  if [ -d "$out" ]; then
    turns=$(cat "$out/turns_without_checkpoint" 2>/dev/null)
    turns=$((${turns:-0} + 1))
    echo "$turns" >"$out/turns_without_checkpoint"
  fi
  [ "$turns" -gt "${PENSTOCK_RETRIES:-3}" ] || return 0
  say "exit code $code, and the last $turns turns left no new checkpoint: not queued again (PENSTOCK_RETRIES)"
  return 1
}
