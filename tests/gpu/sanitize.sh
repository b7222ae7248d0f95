#!/usr/bin/env bash
# Runs a program under one tool of compute-sanitizer: memcheck (out-of-bounds, misaligned), racecheck (shared memory),
# initcheck, synccheck. Exit codes: 0 clean; 1 something was found; 77 not run, or not to its end, and why.
#
#   sanitize.sh TOOL SECONDS PROGRAM [ARGUMENT...]
#
# With PENSTOCK_REHEARSAL set (tests/gpu/run.sh --rehearse) the program runs without the tool, which knows no emulated GPU.
set -uo pipefail
tool=$1
limit=$2
shift 2
[ -z "${PENSTOCK_REHEARSAL-}" ] || exec timeout "$limit" "$@"
sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer 2>/dev/null) ||
  { echo "skipped: needs compute-sanitizer, which comes with the CUDA toolkit: put it on PATH, or set CUDA_HOME"; exit 77; }
"$(dirname "$0")/has_gpu.sh" || exit 77
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A child that dies with the limit says nothing of what it found: the log does.
# Statuses of calls are checked by the program itself: libraries try calls that may fail.
extra=()
[ "$tool" != memcheck ] || extra=(--report-api-errors no)
timeout "$limit" "$sanitizer" --tool "$tool" "${extra[@]}" --error-exitcode 9 --print-limit 20 "$@" >"$log" 2>&1
code=$?
tail -n 60 "$log"
if grep -q 'Device not supported' "$log"; then
  echo "skipped: needs a compute-sanitizer that knows this GPU: try that of a newer CUDA toolkit"
  exit 77
fi
if [ "$tool" = racecheck ]; then
  # Libraries' kernels synchronise by means that this tool does not know: only our own kernels count.
  ! grep -qE '^=+ +(Error|and).*penstock' "$log" || exit 1
  [ $code -ne 9 ] || { echo "skipped: races in libraries' kernels only, which synchronise by means that racecheck does not know"; exit 77; }
elif grep -qE '^=+ +(Invalid|Error|Misaligned|Uninitialized|Barrier)' "$log"; then
  exit 1
fi
case $code in
  0) exit 0 ;;
  124) echo "skipped: clean so far, but not at its end after $limit s: give it more SECONDS (penstock_sanitized)"; exit 77 ;;
  *) exit 1 ;;
esac
