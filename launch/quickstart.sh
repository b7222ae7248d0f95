#!/usr/bin/env bash
# Sets up a bare machine (launch/setup.sh), then trains a small Transformer as a
# pipeline of two stages, two processes under mpirun on this machine. No GPU, no download, about a minute of training.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
usage: launch/quickstart.sh [TEXT-FILE] [OPTION...]

  TEXT-FILE  what to learn, any file of some 100 kB or more (default: Penstock's own sources)
  OPTION     handed to `penstock train`, e.g. --steps 50 --schedule gpipe

Installs and compiles the program alone (launch/setup.sh --program, which says beforehand how much that is), and CUDA only
where there are a toolkit and a GPU. Writes to build/ and runs/quickstart/ in this tree.

Exit codes: those of launch/setup.sh and of penstock.
END
}

case ${1-} in --help | -h) usage; exit 0 ;; esac
text=
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  if ! text=$(realpath -- "$1" 2>/dev/null) || [ ! -f "$text" ] || [ ! -r "$text" ]; then
    echo "quickstart.sh: cannot read the text file '$1'" >&2
    exit 2
  fi
  shift
fi

"$root/launch/setup.sh" release --program
penstock=$root/build/release/bin/penstock

if [ -z "$text" ]; then
  text=$root/build/sources.txt
  (cd "$root" && find docs kernels runtime launch tests -type f \( -name '*.md' -o -name '*.h' -o -name '*.cpp' \) |
    LC_ALL=C sort | xargs cat README.md) >"$text"
fi

if [ "$(id -u)" -eq 0 ]; then  # containers run as root, where mpirun asks for a double yes
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
echo "== Training on $(wc -c <"$text") bytes of $text"
# Training again replaces what the last quickstart has left, and nothing else.
again=--overwrite
case " $* " in *" --out"* | *" --run.out"* | *" --resume"* | *" --run.resume"*) again= ;; esac
# --bind-to none: Open MPI would else give each of two ranks one core for all its threads.
# --oversubscribe: also where there is only one core. yield: a waiting rank leaves its core to whoever else works here.
mpirun -n 2 --bind-to none --oversubscribe --mca mpi_yield_when_idle 1 "$penstock" train "$root/launch/examples/quickstart.toml" \
  --data.train "$text" --out "$root/runs/quickstart" ${again:+"$again"} "$@" </dev/null

cat <<END

== It works: runs/quickstart/ has summary.json, metrics.jsonl and checkpoints/. Four ways on, in $root:
  build/release/bin/penstock generate runs/quickstart/run.toml --stages 1 --prompt "// The "
  launch/quickstart.sh my.txt --steps 1000                  learn a text of yours
  launch/quickstart.sh --schedule gpipe --recompute none    other memory and time, the same loss to the last bit
  build/release/bin/penstock train --help                   every option; docs/first_run.md: a run file of your own
END
