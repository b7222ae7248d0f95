#!/usr/bin/env bash
# True where the CUDA driver lists a GPU; otherwise says why not.
list=$(nvidia-smi -L 2>&1) && [[ $list == GPU* ]] && exit 0
echo "skipped: needs a GPU and NVIDIA's driver; nvidia-smi lists none: ${list:-nothing}" | head -n 1
exit 1
