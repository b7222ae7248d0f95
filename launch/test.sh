#!/usr/bin/env bash
# Sets the machine up (launch/setup.sh), then runs the tests, several at a time where that is safe.
# The tests of several ranks run under mpirun on this machine; the GPU tests are skipped, and say so, without a GPU.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
usage: launch/test.sh [--all] [--asan | --tsan | --debug] [--isa NAME] [--no-page] [--no-build] [--filter TESTS] [--help]
                      [REGEX] [-- CTEST-OPTION...]

  --all            whole matrices of networks, schedules, recompute modes and ranks, of which else a part is run that has every
                   value of each
  --asan, --tsan   the build with address and undefined-behaviour sanitizers, or with that of threads
  --debug          the build without optimisation
  --isa NAME       as on a lesser processor: AVX2, AVX512_CORE (no bf16, so it is emulated) or AVX512_CORE_BF16
  --no-page        do not fetch Chromium (190 MB, 680 MB on disk), in which the pages of `penstock schedule --format html`
                   and `penstock report` are tested; without it those tests are skipped
  --no-build       take build/ as it is: nothing is fetched, configured or compiled
  --filter TESTS   only the tests of this GoogleTest pattern, e.g. '*Sampling*:*Beam*'
  REGEX            only the rooms and programs whose name matches, e.g. ^schedule
  CTEST-OPTION     handed to ctest, e.g. launch/test.sh -- -L unit --repeat until-fail:5

Exit code: ctest's (0: all passed, 8: some failed), or that of launch/setup.sh.
END
}

preset=release
build=yes
page=(--page)
select=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --all) export PENSTOCK_TESTS=all ;;
    --asan | --tsan | --debug) preset=${1#--} ;;
    --isa) export ONEDNN_MAX_CPU_ISA=${2:?--isa needs a name}; shift ;;
    --no-page) page=() ;;
    --no-build) build=no ;;
    --filter) export GTEST_FILTER=${2:?--filter needs a pattern}; shift ;;
    --) shift; select+=("$@"); break ;;
    -*) echo "test.sh: unknown option '$1'; see launch/test.sh --help" >&2; exit 2 ;;
    *) select+=(--tests-regex "$1") ;;
  esac
  shift
done
[ "$preset" = release ] || page=()

[ "$build" = no ] || "$root/launch/setup.sh" "$preset" --cuda "${page[@]}"

if [ "$(id -u)" -eq 0 ]; then  # containers and CI run as root, where mpirun asks for a double yes
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cd "$root"
results=build/$preset/test-results
rm -rf "$results"
status=0
# Twice as many at once as there are cores: those of several ranks wait for processes to start most of the time.
ctest --preset "$preset" --no-tests=error --parallel $((2 * $(nproc))) "${select[@]}" </dev/null || status=$?

# CTest counts processes; these are the tests in them, and why some were skipped.
sum_up() {
  local files=("$results"/*.xml)
  [ -e "${files[0]}" ] || return 0
  # A line of the report is a test, or why the one before it was skipped.
  sed -n -e 's/.*<testcase .*status="run".*/run/p' -e 's/.*<skipped message="[^"]*&#x0A;\([^"]*\)".*/skipped \1/p' \
    -e 's/.*<failure .*/failure/p' -e '/<\/testcase>/p' "${files[@]}" |
    sed -e "s/&apos;/'/g; s/&quot;/\"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g" |
    awk '/^run/ { ++run; failed = 0 }
         /^failure/ { if (!failed++) ++failures }
         /^skipped/ { sub(/^skipped /, ""); ++skipped; ++why[$0] }
         END {
           printf "%d tests: %d passed, %d failed, %d skipped\n", run, run - failures - skipped, failures, skipped
           for (reason in why) printf "  skipped %4d: %s\n", why[reason], reason
         }'
}
sum_up
exit "$status"
