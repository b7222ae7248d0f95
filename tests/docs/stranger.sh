#!/usr/bin/env bash
# Walks through docs/walkthrough.md as somebody would who has just come: every block of commands is run as it stands there, in one
# shell, and every other block is saved as the file that its first line names. Nothing is typed again here, so the page cannot drift.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<'END_OF_USAGE'
usage: tests/docs/stranger.sh [--home DIR] [--print]

  --home DIR  what stands for the stranger's home [a new folder, removed at the end]
  --print     show what would be run, and run nothing

For a bare Debian, as a user who may install packages; the tree is a copy, which is built in place. Where Penstock is built already
(PENSTOCK_INSTALL=no) it takes about a minute. Exit codes: 0 everything worked; else that of the first command that did not.
END_OF_USAGE
}

home='' print=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --home) home=$(mkdir -p "${2:?--home needs a folder}" && cd "$2" && pwd); shift ;;
    --print) print=yes ;;
    *) echo "stranger.sh: unknown argument '$1'; see tests/docs/stranger.sh --help" >&2; exit 2 ;;
  esac
  shift
done

# script_of PAGE: its blocks as one script.
script_of() {
  awk '
    /^## / { heading = substr($0, 4) }
    /^```/ && inside { if (inside == "file") print "END_OF_BLOCK"; inside = ""; next }
    /^```sh$/ { inside = "commands"; print "printf \"\\n== %s\\n\" \"" heading "\""; next }
    /^```/ { inside = "file"; first = 1; next }
    first && !/^(#|\/\/) [A-Za-z0-9_.]+$/ { print "a block names no file: " $0 > "/dev/stderr"; exit 1 }
    first { print "cat >" $2 " <<\"END_OF_BLOCK\""; first = 0 }
    inside { print }' "$1"
}

script=$(script_of "$root/docs/walkthrough.md")
if [ "$print" = yes ]; then
  printf '%s\n' "$script"
  exit 0
fi
if [ -z "$home" ]; then
  home=$(mktemp -d)
  trap 'rm -rf "$home"' EXIT
fi
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

cd "$root"
HOME=$home bash -euo pipefail -x -c "$script"
echo "stranger.sh: every command of docs/walkthrough.md worked"
