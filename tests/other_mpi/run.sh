#!/usr/bin/env bash
# Builds the program for another MPI out of what a tree has already compiled, and starts it in tests.
#   run.sh [--built DIRECTORY] [--into DIRECTORY] [MPICXX MPIEXEC] [-- CTEST-OPTION...]
# What is not said is build/release, build/other_mpi, and Debian's MPICH: mpicxx.mpich mpiexec.mpich.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
built=$root/build/release
build=$root/build/other_mpi
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$(cd "$2" && pwd); shift ;;
    --into) build=$2; shift ;;
    --) shift; break ;;
    *) words+=("$1") ;;
  esac
  shift
done
mpicxx=${words[0]:-mpicxx.mpich}
mpiexec=${words[1]:-mpiexec.mpich}
mkdir -p "$build"
build=$(cd "$build" && pwd)
cmake --install "$built" --prefix "$build/installed" >"$build/install.log"
cmake -S "$root/tests/other_mpi" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILT="$built" -DINSTALLED="$build/installed" \
  -DMPI_CXX_COMPILER="$(command -v "$mpicxx")" -DMPIEXEC_EXECUTABLE="$(command -v "$mpiexec")"
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
