#!/usr/bin/env bash
# Sets the machine up (launch/setup.sh), then runs every test, several at a time where that is safe.
# The tests of several ranks run under mpirun on this machine; the GPU tests are skipped, and say so, without a GPU.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
usage: launch/test.sh [--asan | --debug] [--help] [REGEX] [-- CTEST-OPTION...]

  REGEX            only the tests whose name matches, e.g. Schedule
  --asan, --debug  the build with address and undefined-behaviour sanitizers, or without optimisation
  CTEST-OPTION     handed to ctest, e.g. launch/test.sh -- -L unit --repeat until-fail:5

Exit code: ctest's (0: all passed, 8: some failed), or that of launch/setup.sh.
END
}

preset=release
select=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --asan) preset=asan ;;
    --debug) preset=debug ;;
    --) shift; select+=("$@"); break ;;
    -*) echo "test.sh: unknown option '$1'; see launch/test.sh --help" >&2; exit 2 ;;
    *) select+=(--tests-regex "$1") ;;
  esac
  shift
done

"$root/launch/setup.sh" "$preset" --page

if [ "$(id -u)" -eq 0 ]; then  # containers and CI run as root, where mpirun asks for a double yes
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cd "$root"
exec ctest --preset "$preset" --no-tests=error --parallel "$(nproc)" "${select[@]}" </dev/null
