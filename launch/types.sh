#!/usr/bin/env bash
# One name, one type, one constant: two of the same name in one program are undefined behaviour that no compiler reports (C++20
# [basic.def.odr]); types wait for their first common inline function, and of two constants the linker keeps one. So no name is
# given twice in the whole tree, outside anonymous namespaces. And where the files of a room, or of a test program, are compiled together (PENSTOCK_UNITY), no two of them
# have functions of one name in anonymous namespaces: a call could silently mean the other file's overload. Nor have two files of a
# room constants or types of one name there, which compile as long as the two are not taken together.
# Reads the files as clang-format leaves them: what stands in a namespace is not indented.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
usage: launch/types.sh [--help] [FILE...]

  FILE  read these sources (default: all below kernels, runtime, launch, tests and bench)

Exit code: 0 when every name is one type's and one function's, 1 when not, 2 bad usage.
END
}

case ${1-} in
  --help | -h) usage; exit 0 ;;
  -*) echo "types.sh: unknown option '$1'; see launch/types.sh --help" >&2; exit 2 ;;
esac
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(find kernels runtime launch tests bench -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' | LC_ALL=C sort)
fi

awk '
  FNR == 1 { depth = 0; anonymous = 0 }
  /^namespace [a-z_:]* ?\{$/ {
    names[++depth] = $2 == "{" ? "" : $2
    if (names[depth] == "") ++anonymous
  }
  /^}  \/\/ namespace/ { if (names[depth--] == "") --anonymous }
  { sub(/ *\/\/.*/, "") }
  # A definition at the left margin: not a declaration, not a specialisation, not of a member (Loader::State).
  !anonymous && /^(struct|class|union|enum|enum class) [A-Za-z_0-9]+( final)?( : .*| :$| \{.*)?$/ && !/[^}];$/ {
    if (previous ~ /^template *<>/) next
    name = $2 == "class" ? $3 : $2
    scope = ""
    for (i = 1; i <= depth; ++i) scope = scope names[i] "::"
    name = scope name
    place = FILENAME ":" FNR
    if (name in first) { print "types.sh: " name " is two types, in " first[name] " and " place; status = 1 }
    else first[name] = place
  }
  # Constants of headers have one address, so two of one name are one of them, whatever their types.
  !anonymous && /^inline (constexpr|const) / {
    name = $0; sub(/ *[=\[{].*/, "", name); sub(/.*[ &*]/, "", name)
    scope = ""
    for (i = 1; i <= depth; ++i) scope = scope names[i] "::"
    name = scope name
    place = FILENAME ":" FNR
    if (name in constant) { print "types.sh: " name " is two constants, in " constant[name] " and " place; status = 1 }
    else if (name ~ /::k[A-Z][A-Za-z0-9]*$/) constant[name] = place
  }
  # So have functions of headers with the same parameters: the linker keeps one body. Read is the line of the name.
  !anonymous && FILENAME ~ /[.](h|cuh)$/ && /^(\[\[nodiscard\]\] )?(inline|constexpr) .*[ &*][a-z_0-9]+\(/ && $0 !~ /^[^(]*=/ {
    scope = ""
    for (i = 1; i <= depth; ++i) scope = scope names[i] "::"
    name = $0; sub(/\(.*/, "", name); sub(/.*[ &*]/, "", name)
    parameters = substr($0, index($0, name "(") + length(name)); sub(/[)] *(const|noexcept|\{).*/, ")", parameters)
    gsub(/[ &*][a-z_0-9]+ *(=[^,)]*)?,/, ",", parameters); sub(/[ &*][a-z_0-9]+ *(=[^,)]*)?[)]/, ")", parameters)
    name = scope name parameters
    if (name in inlined && inlined[name] !~ FILENAME) { print "types.sh: " name " is two functions, in " inlined[name] " and " FILENAME ":" FNR; status = 1 }
    else inlined[name] = FILENAME ":" FNR
  }
  anonymous && /^[A-Za-z\[].*[ &*][a-z_0-9]+\(/ && !/^(struct|class|union|enum|using|namespace|template|constexpr [^(]*=|const [^(]*=|return) ?/ &&
      FILENAME ~ /^(kernels\/cuda|runtime|launch|tests\/(unit|distributed|gpu|host_cuda))\/.*[.](cpp|cu)$/ && $0 !~ /::[a-z_0-9]+\(/ {
    name = $0; sub(/\(.*/, "", name); sub(/.*[ &*]/, "", name)
    match(FILENAME, /^(kernels\/cuda|runtime\/system\/comm\/cuda|(runtime|tests\/unit)\/(data|kernels|launch|[^\/]+\/[^\/]+)|launch|tests\/[^\/]+)\//); room = substr(FILENAME, 1, RLENGTH)
    if ((room, name) in home && home[room, name] != FILENAME) {
      print "types.sh: " name "() is two functions, in " home[room, name] " and " FILENAME ": name one of them otherwise"; status = 1
    }
    home[room, name] = FILENAME
  }
  # Aliases may be repeated where they mean the same.
  anonymous && FILENAME ~ /^(kernels|runtime|launch)\/.*[.](cpp|cu)$/ && /^((constexpr|const) |(struct|class|enum|enum class) [A-Z]|using [A-Z][A-Za-z0-9]* =)/ && !/^(struct|class) [A-Za-z0-9]+;/ {
    name = $0; sub(/^(struct|class|enum class|enum|using) /, "", name); if (name == $0) sub(/ *[=\[{(;].*/, "", name); else sub(/[^A-Za-z0-9_].*/, "", name)
    sub(/.*[ &*]/, "", name)
    match(FILENAME, /^(kernels\/(cuda|cpu|counting)|runtime\/system\/comm\/cuda|runtime\/(data|kernels|[^\/]+\/[^\/]+)|launch|kernels)\//); room = substr(FILENAME, 1, RLENGTH)
    if ((room, name) in holder && holder[room, name] != FILENAME && (!/^using/ || meant[room, name] != $0)) {
      print "types.sh: " name " is defined in " holder[room, name] " and in " FILENAME ", which are compiled together: name one of them otherwise"; status = 1
    }
    holder[room, name] = FILENAME; meant[room, name] = $0
  }
  { previous = $0 }
  END { exit status }
' "${files[@]}" >&2
