#!/usr/bin/env bash
# Builds the program for another MPI out of what a tree has already compiled, and starts it in tests.
#   run.sh [--built DIRECTORY] [MPICXX [MPIEXEC]] [-- CTEST-OPTION...]
# DIRECTORY is build/release; MPICXX and MPIEXEC are Debian's MPICH: mpicxx.mpich and mpiexec.mpich.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
built=$root/build/release
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$(cd "$2" && pwd); shift ;;
    --) shift; break ;;
    *) words+=("$1") ;;
  esac
  shift
done
mpicxx=${words[0]:-mpicxx.mpich}
mpiexec=${words[1]:-mpiexec.mpich}
build=$root/build/other_mpi/$(basename "$mpicxx")
mkdir -p "$build"
cmake --install "$built" --prefix "$build/installed" >"$build/install.log"
cmake -S "$root/tests/other_mpi" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILT="$built" -DINSTALLED="$build/installed" \
  -DMPI_CXX_COMPILER="$(command -v "$mpicxx")" -DMPIEXEC_EXECUTABLE="$(command -v "$mpiexec")"
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
