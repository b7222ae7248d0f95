#!/bin/sh
# bench/peers/setup.sh -- a Python environment with PyTorch for the comparisons, outside the tree.
#
# Installs below $PENSTOCK_PEERS (by default ~/.cache/penstock/peers) and prints that path. The CPU
# wheels come from PyTorch's own index where it can be reached; PyPI's, which bring CUDA along
# (about 6 GiB), serve as well. Run again: does nothing when PyTorch and transformers are there
# already.
set -eu
where=${PENSTOCK_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/penstock/peers}
version=${PENSTOCK_PEERS_TORCH:-torch}

if [ ! -x "$where/bin/python" ]; then
  python3 -m venv "$where"
fi
if ! "$where/bin/python" -c 'import torch' 2>/dev/null; then
  free_kib=$(df -Pk "$where" | awk 'NR == 2 { print $4 }')
  if [ "$free_kib" -lt 12582912 ]; then
    echo "setup.sh: $where has less than 12 GiB free; set PENSTOCK_PEERS to a roomier place" >&2
    exit 1
  fi
  "$where/bin/pip" install --quiet --retries 0 --timeout 10 numpy
  "$where/bin/pip" install --quiet --retries 0 --timeout 10 \
      --index-url https://download.pytorch.org/whl/cpu "$version" 2>/dev/null ||
    "$where/bin/pip" install --quiet "$version"
fi
if ! "$where/bin/python" -c 'import transformers' 2>/dev/null; then  # the peer of mixtures
  "$where/bin/pip" install --quiet --retries 0 --timeout 10 transformers
fi
"$where/bin/python" -c 'import torch; print("PyTorch", torch.__version__)' >&2
echo "$where"
