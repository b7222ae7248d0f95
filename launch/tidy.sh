#!/usr/bin/env bash
# clang-tidy over the sources that changed and those that include a header that changed. What was read and found clean is kept by content:
# the text of a source and of all headers of ours that it includes, its flags, the version and the configuration. Equal content is
# never read twice, in whatever checkout it lies.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
usage: launch/tidy.sh [--all | --since REV] [--tests] [--help] [FILE-REGEX]

  --since REV  read what differs from that commit (default: from the last one that is half a day older than HEAD)
  --all        read every source, changed or not; also done without git, and when the configuration has changed
  --tests      tests and benchmarks too, which take as long as all the rest
  FILE-REGEX   only sources whose path matches, e.g. runtime/schedule

Needs clang-tidy-14 and a configured build/release (launch/check.sh sees to both). Clean results are kept in
${XDG_CACHE_HOME:-~/.cache}/penstock/clang-tidy.
Exit code: 0 when clean, 1 when something was found, 2 bad usage.
END
}

rooms=(kernels runtime launch)
scope=changed
since=
only=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --all) scope=all ;;
    --since) since=${2:?--since needs a commit}; shift ;;
    --tests) rooms+=(tests bench) ;;
    -*) echo "tidy.sh: unknown option '$1'; see launch/tidy.sh --help" >&2; exit 2 ;;
    *) only=$1 ;;
  esac
  shift
done

tidy=clang-tidy-14
cache=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/clang-tidy
work=build/release/tidy
mkdir -p "$cache" "$work"

# The commands of the build, but each file by itself and without precompiled headers, which are GCC's: so every file must include
# what it uses. Files that are compiled together (PENSTOCK_UNITY) share a command.
sed -e 's/ -Winvalid-pch//' -e 's/ -include [^ ]*cmake_pch[.]hxx//' build/release/compile_commands.json |
  awk '
    /"command":/ { command = $0 }
    /"file":/ {
      file = $2; gsub(/[",]/, "", file)
      if (file !~ /\/Unity\/unity_/) { print command "\n  \"file\": \"" file "\""; next }
      while ((getline line < file) > 0) {
        if (line !~ /^#include /) continue
        split(line, part, "\"")
        one = command; sub(/ -c [^ ]*",$/, " -c " part[2] "\",", one)
        print one "\n  \"file\": \"" part[2] "\""
      }
      close(file)
    }' | awk -v directory="$root/build/release" '
      BEGIN { print "[" }
      /"command":/ { printf "%s{\n  \"directory\": \"%s\",\n%s\n", (n++ ? ",\n" : ""), directory, $0 }
      /"file":/ { print $0 "\n}" }
      END { print "]" }' >"$work/compile_commands.json"

# ---- which sources: "flags<tab>file", one a line; a file that several programs compile is read once.
regex="^$root/($(IFS='|'; echo "${rooms[*]}"))/.*[.]cpp$"
sed -n 's/^ *"command": "\(.*\)",$/\1/p; s/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$work/compile_commands.json" |
  paste - - | awk -F '\t' -v regex="$regex" -v only="$only" '$2 ~ regex && $2 ~ only && !seen[$2]++' >"$work/sources"

# ---- what each consists of: "file<tab>it and its headers<tab>key"
# shellcheck disable=SC2046  # the names hold no spaces
sha256sum $(find kernels runtime launch tests bench -name '*.h' -o -name '*.cpp') >"$work/hashes"
grep -rH --include='*.h' --include='*.cpp' '^#include "' kernels runtime launch tests bench |
  sed 's/^\([^:]*\):#include "\([^"]*\)".*/\1 \2/' >"$work/includes"
configuration=$({ $tidy --version; c++ --version; cat .clang-tidy; } | sha256sum)
awk -v root="$root" -v configuration="$configuration" '
  FILENAME ~ /hashes$/ { hash[$2] = $1; next }
  FILENAME ~ /includes$/ { if ($2 in hash) included[$1] = included[$1] " " $2; next }
  {
    split($0, part, "\t")
    flags = part[1]; file = part[2]
    gsub(root, ".", flags); sub(/ -o [^ ]*/, "", flags); sub(root "/", "", file)
    delete seen
    queue[1] = file; seen[file] = 1; last = 1; parts = ""; text = configuration flags
    for (first = 1; first <= last; ++first) {
      parts = parts " " queue[first]; text = text " " hash[queue[first]]
      n = split(included[queue[first]], next_ones, " ")
      for (i = 1; i <= n; ++i) if (!(next_ones[i] in seen)) { seen[next_ones[i]] = 1; queue[++last] = next_ones[i] }
    }
    print file "\t" parts " \t" text
  }' "$work/hashes" "$work/includes" "$work/sources" |
  while IFS=$'\t' read -r file parts text; do
    printf '%s\t%s\t%s\n' "$file" "$parts" "$(sha256sum <<<"$text" | cut -c 1-64)"
  done >"$work/parts"

# ---- which of them changed
changed() {
  [ -n "$since" ] || since=$(git rev-list -1 --before="$(($(git log -1 --format=%ct) - 12 * 3600))" HEAD) || return 1
  [ -n "$since" ] || return 1
  git diff --name-only "$since" && git ls-files --others --exclude-standard
}
if [ "$scope" = changed ]; then
  if ! changed >"$work/changed" 2>/dev/null; then
    scope="all, for there is no history to compare with"
  elif grep -qxF .clang-tidy "$work/changed"; then
    scope="all, for the configuration has changed"
  fi
fi
if [ "$scope" = changed ]; then
  # Sources that changed, those that include a changed header themselves, and, of a header that no source includes itself, all
  # that have it through others.
  awk -F '\t' '
    FILENAME ~ /changed$/ { changed[$1]; next }
    FILENAME ~ /includes$/ { split($0, pair, " "); if (pair[2] in changed && pair[1] in source) { wanted[pair[1]]; read[pair[2]] } next }
    !second { source[$1]; next }
    {
      n = split($2, part, " ")
      for (i = 1; i <= n; ++i) if (part[i] in changed && !(part[i] in read)) wanted[$1]
      if ($1 in wanted) print
    }' "$work/changed" "$work/parts" "$work/includes" second=1 "$work/parts" >"$work/wanted"
else
  cp "$work/parts" "$work/wanted"
fi
awk -F '\t' -v cache="$cache" '{ known = (getline line < (cache "/" $3)) >= 0; close(cache "/" $3); if (!known) print $1 " " $3 }' \
  "$work/wanted" >"$work/unread"
echo "clang-tidy: $(wc -l <"$work/unread") of $(wc -l <"$work/parts") sources to read ($scope; $(wc -l <"$work/wanted") wanted, the others known to be clean)"

# ---- read them. Clang knows fewer pragmas and warnings than the compiler that we build with.
# $0 FILE KEY: findings on standard output; clean is what leaves a file in the cache.
# shellcheck disable=SC2016  # of the inner shell
read_one='
  file=$1 key=$2
  "$tidy" -quiet -p "$work" -extra-arg=-Wno-unknown-pragmas -extra-arg=-Wno-unknown-warning-option "$file" 2>"$work/$key.log"
  code=$?
  if [ $code -eq 0 ]; then : >"$cache/$key"; else grep error: "$work/$key.log"; fi
  rm -f "$work/$key.log"
  exit $code'
export tidy work cache
status=0
xargs -r -P "$(nproc)" -n 2 bash -c "$read_one" tidy.sh <"$work/unread" >"$work/findings" || status=1
grep -E '(warning|error):' "$work/findings" | LC_ALL=C sort --unique >&2 || true
[ $status -eq 0 ] || echo "tidy.sh: all that was said is in $work/findings" >&2
find "$cache" -type f -mtime +60 -delete
exit $status
