#!/bin/sh
# bench/run.sh -- ours beside the peers, as one table (bench/README.md says what is in it).
#
#   bench/run.sh [--parts 1,2,3,4,5,6,7,8] [--rows REGULAR_EXPRESSION] [--rounds N] [--clock wall|cpu] ...
#   bench/run.sh --before BIN [--parts 1,2] ...     beside an earlier build of ours, in whose folder BIN step_bench is
#
# Builds what it needs in $PENSTOCK_BUILD (by default build/release), sets the peers up where
# bench/peers/setup.sh says, and takes under half an hour for everything on two idle cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${PENSTOCK_BUILD:-$here/../build/release}
cmake --build "$build" --target side_by_side >&2
peers=$("$here/peers/setup.sh")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec python3 "$here/peers/compare.py" --bin "$build/bin" --peers "$peers" "$@"
