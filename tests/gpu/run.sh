#!/usr/bin/env bash
# Everything that takes a GPU, in parts that each fit into one short turn on a lent machine: see tests/gpu/run.sh --help.
# Finds the libraries; the parts themselves are tests/gpu/slot.py and tests/gpu/parts.py. Needs no network.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
command -v python3 >/dev/null || { echo "run.sh: needs python3" >&2; exit 2; }

tree=$root/build/gpu
# shellcheck source=tests/gpu/libraries.sh
. tests/gpu/libraries.sh
# Our programs with our libraries, python3 and PyTorch with those they came with.
exec env PENSTOCK_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" LD_LIBRARY_PATH="${foreign-}" python3 tests/gpu/slot.py "$@"
