#!/usr/bin/env bash
# What reviewers need not look for: formatting, names, scripts, comments, clang-tidy, and a table of sizes. Tests are launch/test.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
usage: launch/check.sh [--fix] [--no-tidy] [--help] [TIDY-OPTION...]

  --fix        format the files in place instead of refusing them
  --no-tidy    leave clang-tidy out, which takes most of the time
  TIDY-OPTION  handed to launch/tidy.sh: --all (every source, not only what changed), --since REV, --tests, FILE-REGEX

Exit code: 0 when clean, 1 when a check found something, else that of launch/setup.sh.
END
}

rooms=(kernels runtime launch tests bench)
fix=no
tidy=yes
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --fix) fix=yes ;;
    --no-tidy) tidy=no ;;
    *) options+=("$1") ;;
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
  sources "${rooms[@]}" | xargs -n 32 -P "$(nproc)" clang-format-14 --dry-run -Werror
}

check_scripts() {
  find .ci launch tests bench -type f \( -name '*.sh' -o -path .ci/run \) -print0 | xargs -0 shellcheck --external-sources
}

# What throws in a parallel region ends the process: kernels/parallel.h has the one that hands it on.
check_regions() {
  local others
  others=$(sources kernels runtime launch | xargs grep -ln '#pragma omp parallel' | grep -v '^kernels/parallel.h$' || true)
  [ -z "$others" ] || { echo "a parallel region of its own, in place of kernels/parallel.h: $others"; return 1; }
}

# Comments are whole sentences, or begin with the noun that they are about: not with a relative word, nor with a preposition that no
# main clause follows.
check_comments() {
  local files
  mapfile -t files < <(sources "${rooms[@]}")
  awk '
    function judge() {
      first = text; sub(/[ ,;:.].*/, "", first)
      sentence = text; sub(/[.:;]( .*|$)/, "", sentence)
      if (first ~ /^(Which|Whose|Than|Likewise|Also|Those|Its|So)$/ ||
          (first ~ /^(Of|By|As|With|From|For|To|At|On|In|Over|Without|Between|Beside|Behind|Where|Before|After|Until|Per|Like)$/ &&
           sentence !~ /,/)) {
        print place ": a comment begins in the middle of a sentence: " substr(text, 1, 80); found = 1
      }
      text = ""
    }
    FNR == 1 { judge() }
    /^[ \t]*\/\/ / {
      line = $0; sub(/^[ \t]*\/\/ /, "", line)
      if (text == "") place = FILENAME ":" FNR
      text = text == "" ? line : text " " line
      next
    }
    { judge() }
    END { judge(); exit found }' "${files[@]}"
}

# Prose of the pages is read in editors and diffs, too. Tables, code and lines with links are as long as they have to be, and the program
# prints docs/run_file.md.
check_pages() {
  awk 'FNR == 1 { code = 0 }
       /^ *```/ { code = !code }
       FILENAME != "docs/run_file.md" && !code && !/^ *\|/ && !/\]\(/ && length > 120 { print FILENAME ":" FNR ": more than 120 columns"; found = 1 }
       END { exit found }' README.md docs/*.md
}

# Printed for information; nothing fails because of it.
print_sizes() {
  printf '%-24s %6s %8s   %s\n' room files lines 'longest file'
  local room files
  for room in kernels runtime/*/* launch tests bench; do
    [ -d "$room" ] || continue
    mapfile -t files < <(sources "$room")
    [ ${#files[@]} -gt 0 ] || continue
    printf '%-24s %6d %8d   %s\n' "$room" ${#files[@]} "$(cat "${files[@]}" | wc -l)" \
      "$(wc -l "${files[@]}" | grep -v ' total$' | sort -rn | head -n 1 | awk '{print $2, $1}')"
  done
}

"$root/launch/setup.sh" --tools --configure-only release
status=0
echo "== Formatting (clang-format), names of types (launch/types.sh), scripts (shellcheck), parallel regions, comments, pages"
check_format || status=1
launch/types.sh || status=1
check_scripts || status=1
check_regions || status=1
check_comments || status=1
check_pages || status=1
if [ "$tidy" = yes ]; then
  echo "== clang-tidy"
  start=$SECONDS
  launch/tidy.sh "${options[@]}" || status=1
  echo "== clang-tidy took $((SECONDS - start)) s"
fi
print_sizes
exit "$status"
