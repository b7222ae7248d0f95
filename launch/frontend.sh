# The headers of NVIDIA's cudnn-frontend, with which the CUDA backend has fused attention.
# Sourced by launch/setup.sh, for this machine, and launch/bundle.sh, for another one.
# shellcheck shell=bash
frontend_version=1.32.0
frontend_sha256=8b354a8e550c083eb247f1eb39a7d69a4a269075f5a01e4fcbd2531680b17239

# fetch_frontend DIR: puts them into DIR/include, by pip, unless they are there. False where that cannot be: no python3, no pip, no
# network. The wheel is that of one Python and processor wherever this runs: all have the same headers, and one checksum is enough.
fetch_frontend() {
  local into=$1/include pin="$frontend_version $frontend_sha256" work
  [ "$(cat "$into/pin" 2>/dev/null)" != "$pin" ] || return 0
  mkdir -p "$1"
  work=$(mktemp -d "$1/fetching-XXXXXX")
  echo "nvidia-cudnn-frontend==$frontend_version --hash=sha256:$frontend_sha256" >"$work/wanted"
  if python3 -m pip --disable-pip-version-check download --quiet --retries 1 --timeout 30 --require-hashes --no-deps \
    --only-binary=:all: --implementation cp --python-version 3.12 --abi cp312 --platform manylinux_2_28_x86_64 \
    --dest "$work" --requirement "$work/wanted" &&
    python3 -m zipfile -e "$work"/nvidia_cudnn_frontend-*.whl "$work/wheel" && [ -f "$work/wheel/include/cudnn_frontend.h" ]; then
    echo "$pin" >"$work/wheel/include/pin"
    rm -rf "$into"
    mv "$work/wheel/include" "$into"
  fi
  rm -rf "$work"
  [ "$(cat "$into/pin" 2>/dev/null)" = "$pin" ]
}
