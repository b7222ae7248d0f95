#!/usr/bin/env bash
# Penstock in a container of Debian or Ubuntu, in two steps, so that the image which runs has no compiler in it. For
# penstock.def and penstock-cuda.def beside this, and for a Dockerfile of your own.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<'END_OF_USAGE'
usage: launch/packaging/container.sh build PREFIX [CMAKE-OPTION...]
       PREFIX/share/penstock/container.sh run PREFIX

  build  installs compiler and libraries by apt-get, compiles, and installs Penstock into PREFIX, with a list of the
         packages that it needs to run
  run    where PREFIX has been copied to: installs those packages, and Open MPI

Both as root. Exit codes: 0 done; 2 bad usage; else that of apt-get or CMake.
END_OF_USAGE
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@"; }

# The packages of the shared libraries that a program loads, except those of packages that every system has.
packages_of() {
  ldd "$1" | sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | while read -r library; do
    # dpkg knows a library by one of the names of a merged /usr.
    dpkg-query -S "$library" 2>/dev/null || dpkg-query -S "/usr$library" 2>/dev/null || true
  done | sed 's/:.*//' | sort -u
}

build() {
  local prefix=$1
  shift
  # shellcheck source=launch/packages.sh
  . "$root/launch/packages.sh"
  apt update
  apt install "${toolchain[@]}" "${open_mpi[@]}" "${libraries[@]}"
  cmake -S "$root" -B "$root/build/container" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_TESTS=OFF \
    "-DPENSTOCK_ARCH=x86-64-v3;x86-64-v4" "$@"
  cmake --build "$root/build/container" --target penstock
  cmake --install "$root/build/container" --prefix "$prefix"
  install -m 755 "${BASH_SOURCE[0]}" "$prefix/share/penstock/container.sh"
  packages_of "$prefix/bin/penstock" >"$prefix/share/penstock/packages.txt"
}

run() {
  local needed
  mapfile -t needed <"$1/share/penstock/packages.txt"
  apt update
  apt install openmpi-bin "${needed[@]}"
  rm -rf /var/lib/apt/lists/*
  "$1/bin/penstock" --version
}

case ${1-}:$# in
  --help:* | -h:*) usage ;;
  build:[2-9]* | build:1[0-9]*) shift; build "$@" ;;
  run:2) run "$2" ;;
  *) usage >&2; exit 2 ;;
esac
