#!/usr/bin/env bash
# Everything that takes a GPU, in parts that each fit into one short turn on a lent machine: see tests/gpu/run.sh --help.
# Finds the libraries; the parts themselves are tests/gpu/slot.py and tests/gpu/parts.py. Needs no network.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
command -v python3 >/dev/null || { echo "run.sh: needs python3" >&2; exit 2; }

# A pack (tests/gpu/pack.py) that was carried here stands for the build.
kind=gpu
[[ " $* " != *" --rehearse "* ]] || kind=gpu-rehearsal
pack=${PENSTOCK_PACK:-$root/build/$kind.pack}
tree=$root/build/gpu
packed=()
if [ -f "$pack" ]; then
  tree=$root/build/$kind-packed
  packed=(--packed --tree "$tree")
  if [ ! "$tree/activate.sh" -nt "$pack" ]; then
    if ! { rm -rf "$tree" && mkdir -p "$tree" && python3 -m tarfile -e "$pack" "$tree" && touch "$tree/activate.sh"; }; then
      echo "run.sh: cannot unpack $pack" >&2
      exit 2
    fi
  fi
fi
# shellcheck source=tests/gpu/libraries.sh
. tests/gpu/libraries.sh
# Our programs with our libraries, python3 and PyTorch with those they came with.
exec env PENSTOCK_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" LD_LIBRARY_PATH="${foreign-}" python3 tests/gpu/slot.py "${packed[@]}" "$@"
