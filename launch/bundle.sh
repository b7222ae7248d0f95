#!/usr/bin/env bash
# Gathers, for a machine without network, what launch/setup.sh would install there, and all that it needs in turn,
# as Debian packages in a folder, with a script that makes a shell find them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END_OF_USAGE'
usage: launch/bundle.sh DIR [--frontend] [--help]

Here, on a Debian or Ubuntu with network:   launch/bundle.sh bundle --frontend
There, with a compiler and CMake:           . bundle/activate.sh && cmake --preset cuda && cmake --build --preset cuda

  --frontend  also the headers of NVIDIA's cudnn-frontend (by pip, from its wheel), for fused attention

About 40 MB. activate.sh unpacks them below ${PENSTOCK_LIBRARIES:-~/.cache/penstock-libraries}, which must be the
user's alone, and sets search paths of the shell that sources it; nothing else of that machine is touched, no right
is needed. The two systems should be of one kind: libraries of an older one run on a newer one, not the other way round.

Exit codes: 0 done; 2 bad usage; 3 a package could not be fetched.
END_OF_USAGE
}

into=
frontend=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --frontend) frontend=yes ;;
    -*) echo "bundle.sh: unknown option '$1'; see launch/bundle.sh --help" >&2; exit 2 ;;
    *) into=$1 ;;
  esac
  shift
done
[ -n "$into" ] || { usage >&2; exit 2; }
command -v apt-get >/dev/null || { echo "bundle.sh: needs apt-get" >&2; exit 3; }
# shellcheck source=launch/packages.sh
. "$root/launch/packages.sh"
# shellcheck source=launch/frontend.sh
. "$root/launch/frontend.sh"
mkdir -p "$into"
into=$(cd "$into" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Needed by what we need, but not for building or running: compilers, log-ins, documentation, screens.
needless='^(gfortran|libgfortran|openssh|libfido|libcbor|libedit|libbsd|passwd|adduser|debconf|debianutils|libpam|libsemanage|libsepol|libaudit|libcap-ng'
needless+='|automake|autoconf|autotools|m4|libjs-|catch2|libhwloc-plugins|libxnvctrl|libx|libtinfo|libudev|libuuid)'
kept='^(libxml2|libxxhash)'

# closure PACKAGE...: these and all that they depend on, on a system that has nothing, as name=version.
closure() {
  mkdir -p "$work/archives/partial"
  : >"$work/status"
  apt-get install --print-uris -y --no-install-recommends -o Dir::State::status="$work/status" \
    -o Dir::Cache::archives="$work/archives" -o Debug::NoLocking=1 "$@" |
    sed -n "s/^'[^']*' \([^_ ]*\)_\([^_ ]*\)_[^ ]*\.deb .*/\1=\2/p" | sed 's/%3a/:/' | sort
}

echo "== Gathering packages in $into"
# A machine that compiles has what a compiler needs: above all, its own C library.
closure build-essential >"$work/there"
closure "${open_mpi[@]}" "${libraries[@]}" "${test_libraries[@]}" >"$work/needed"
comm -13 "$work/there" "$work/needed" >"$work/wanted"
[ -s "$work/wanted" ] || { echo "bundle.sh: apt-get knows none of: ${open_mpi[*]} ${libraries[*]} ${test_libraries[*]} (try apt-get update)" >&2; exit 3; }
rm -f "$into"/*.deb
wanted=()
while IFS='=' read -r name version; do
  if [[ $name =~ $needless && ! $name =~ $kept ]]; then continue; fi
  wanted+=("$name=$version")
done <"$work/wanted"
(cd "$into" && apt-get download -q "${wanted[@]}") >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; echo "bundle.sh: these could not all be fetched: ${wanted[*]}" >&2; exit 3; }

if [ "$frontend" = yes ]; then
  fetch_frontend "$into" || echo "== No cudnn-frontend $frontend_version to be had by pip: left out"
fi

cp "$root/launch/activate.sh" "$into/activate.sh"
du -sh "$into" | sed 's/^/== /'
