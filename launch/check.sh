#!/usr/bin/env bash
# What reviewers need not look for: formatting, clang-tidy, and a table of sizes. Tests are launch/test.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
usage: launch/check.sh [--fix] [--no-tidy | --no-tests] [--help] [FILE-REGEX]

  --fix       format the files in place instead of refusing them
  --no-tidy   leave clang-tidy out, which takes most of the time (some 6 s per file and core)
  --no-tests  leave the tests out of it
  FILE-REGEX  run clang-tidy on these sources only, e.g. runtime/schedule

Exit code: 0 when clean, 1 when a check found something, else that of launch/setup.sh.
END
}

rooms=(kernels runtime launch tests bench)
tidied=("${rooms[@]}")
fix=no
tidy=yes
only=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --fix) fix=yes ;;
    --no-tidy) tidy=no ;;
    --no-tests) tidied=(kernels runtime launch) ;;
    -*) echo "check.sh: unknown option '$1'; see launch/check.sh --help" >&2; exit 2 ;;
    *) only=$1 ;;
  esac
  shift
done

# sources DIRECTORY...: every C++ and CUDA file below them.
sources() {
  find "$@" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \) 2>/dev/null | sort || true
}

check_format() {
  if [ "$fix" = yes ]; then
    sources "${rooms[@]}" | xargs clang-format-14 -i
  fi
  sources "${rooms[@]}" | xargs clang-format-14 --dry-run -Werror
}

check_tidy() {
  local files
  files="^$root/(?=.*$only)($(IFS='|'; echo "${tidied[*]}"))/.*[.]cpp\$"
  # Clang knows fewer pragmas and warnings than the compiler that we build with.
  if ! run-clang-tidy-14 -quiet -p build/release -extra-arg=-Wno-unknown-pragmas -extra-arg=-Wno-unknown-warning-option -j "$(nproc)" "$files" \
    >build/release/clang-tidy.log 2>&1; then
    sed 's/\x1b\[[0-9;]*m//g' build/release/clang-tidy.log | grep -E '(warning|error):' | sort --unique >&2
    echo "check.sh: the whole log is build/release/clang-tidy.log" >&2
    return 1
  fi
}

# Printed for whoever watches the house grow; nothing fails because of it.
print_sizes() {
  printf '%-24s %6s %8s   %s\n' room files lines 'longest file'
  local room files
  for room in kernels runtime/* launch tests bench; do
    [ -d "$room" ] || continue
    mapfile -t files < <(sources "$room")
    [ ${#files[@]} -gt 0 ] || continue
    printf '%-24s %6d %8d   %s\n' "$room" ${#files[@]} "$(cat "${files[@]}" | wc -l)" \
      "$(wc -l "${files[@]}" | grep -v ' total$' | sort -rn | head -n 1 | awk '{print $2, $1}')"
  done
}

"$root/launch/setup.sh" --tools --configure-only release
status=0
echo "== Formatting (clang-format)"
check_format || status=1
if [ "$tidy" = yes ]; then
  echo "== clang-tidy"
  start=$SECONDS
  check_tidy || status=1
  echo "== clang-tidy took $((SECONDS - start)) s"
fi
print_sizes
exit "$status"
