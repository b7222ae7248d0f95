#!/usr/bin/env bash
# clang-tidy over the sources that changed and those that include a header that changed. What was read and found clean is kept by content:
# the text of a source and of all headers of ours that it includes, its flags, the version and the configuration. Equal content is
# never read twice, in whatever checkout it lies.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# shellcheck source=launch/cores.sh
. "$root/launch/cores.sh"

usage() {
  cat <<'END'
usage: launch/tidy.sh [--all | --since REV] [--tests] [--help] [FILE-REGEX]

  --since REV  read what differs from that commit (default: from the last one that is four hours older than HEAD)
  --all        read every source, changed or not; also done without git, and when the configuration has changed
  --tests      tests and benchmarks too, which take as long as all the rest
  FILE-REGEX   only sources whose path matches, e.g. runtime/planning/schedule

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

# The commands of the build, but each file by itself and without precompiled headers and parameters, which are GCC's: so every file
# must include what it uses. Files that are compiled together (PENSTOCK_UNITY) share a command.
sed -e 's/ -Winvalid-pch//' -e 's/ -include [^ ]*cmake_pch[.]hxx//' -e 's/ --param=[^ ]*//' build/release/compile_commands.json |
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
  [ -n "$since" ] || since=$(git rev-list -1 --before="$(($(git log -1 --format=%ct) - 4 * 3600))" HEAD) || return 1
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

# ---- in which company: sources that the build compiles together are read together, up to a dozen, for most of what clang-tidy reads
# of one is headers. A unit is their text, for some checks pass over what is included. Where each begins is in units/places:
# "unit<tab>line<tab>file". "file or unit<tab>its keys<tab>the commands of its sources, one a field"
units=$work/units
rm -rf "$units" && mkdir -p "$units"
awk -F '\t' -v root="$root" -v units="$units" '
  FILENAME ~ /sources$/ { file = $2; sub(root "/", "", file); command[file] = $1; next }
  {
    split($0, part, " "); file = part[1]
    flags = command[file]; sub(/ -o .*/, "", flags)
    group = file
    if (match(command[file], / -o [^ ]*\/Unity\/unity_/)) group = substr(command[file], RSTART, RLENGTH)  # of one library or program
    if (!(group in count) || count[group] == 12) { unit[group] = ++last; count[group] = 0 }
    u = unit[group]; ++count[group]; ++size[u]
    only[u] = file; keys[u] = keys[u] " " part[2]; commands[u] = commands[u] "\t" command[file]
    sources[u] = sources[u] " " file
    flags_of[u] = flags
  }
  END {
    database = units "/compile_commands.json"
    places = units "/places"
    printf "" >places
    print "[" >database
    for (u = 1; u <= last; ++u) {
      name = only[u]
      if (size[u] > 1) {
        name = root "/" units "/unit_" u ".cpp"
        n_sources = split(sources[u], source, " ")
        lines = 0
        for (i = 1; i <= n_sources; ++i) {
          print name "\t" lines "\t" root "/" source[i] >places
          while ((getline line < source[i]) > 0) { print line >name; ++lines }
          close(source[i])
        }
        close(name)
        printf "%s{\"directory\": \"%s/build/release\", \"command\": \"%s -c %s\", \"file\": \"%s\"}\n", (n++ ? "," : ""), root, flags_of[u], name, name >database
      } else {
        commands[u] = ""
      }
      print name "\t" substr(keys[u], 2) commands[u]
    }
    print "]" >database
  }' "$work/sources" "$work/unread" >"$work/company"

# ---- read them. Clang knows fewer pragmas and warnings than the compiler that we build with. That a source includes what it uses
# shows only where it stands alone: the compiler looks at each that was read in company.
# $0 LINE-OF-COMPANY: findings on standard output; clean is what leaves files in the cache.
# shellcheck disable=SC2016  # of the inner shell
read_unit='
  IFS=$'\''\t'\'' read -r -a field <<<"$1"
  file=${field[0]} log=$(mktemp "$work/log.XXXXXX") code=0
  how=(-p "$work")
  [ ${#field[@]} -le 2 ] || how=(-p "$units")
  "$tidy" -quiet "${how[@]}" -extra-arg=-Wno-unknown-pragmas -extra-arg=-Wno-unknown-warning-option "$file" 2>"$log" || code=1
  [ $code -eq 0 ] || grep error: "$log"
  for command in "${field[@]:2}"; do
    command=$(sed "s/\\\\\(.\)/\1/g" <<<"${command/ -o / -fsyntax-only -o }")  # it comes from JSON
    (cd build/release && eval "$command") 2>"$log" || { code=1; grep error: "$log"; }
  done
  rm -f "$log"
  if [ $code -eq 0 ]; then for key in ${field[1]}; do : >"$cache/$key"; done; fi
  exit $code'
export tidy work cache units
status=0
tr '\n' '\0' <"$work/company" | xargs -r -0 -P "$(usable_cores)" -n 1 bash -c "$read_unit" tidy.sh >"$work/said" || status=1
awk -F '\t' '
  FILENAME ~ /places$/ { ++n[$1]; first[$1, n[$1]] = $2; file[$1, n[$1]] = $3; next }
  match($0, /^[^ :]+:[0-9]+:/) {
    split(substr($0, 1, RLENGTH), at, ":")
    for (i = n[at[1]]; i > 0; --i) {
      if (at[2] > first[at[1], i]) { $0 = file[at[1], i] ":" at[2] - first[at[1], i] ":" substr($0, RLENGTH + 1); break }
    }
  }
  { print }' "$units/places" "$work/said" >"$work/findings"
grep -E '(warning|error):' "$work/findings" | LC_ALL=C sort --unique >&2 || true
[ $status -eq 0 ] || echo "tidy.sh: all that was said is in $work/findings" >&2
find "$cache" -type f -mtime +60 -delete
exit $status
