#!/usr/bin/env bash
# Brings a machine from bare to built: installs the missing packages, configures, compiles.
# Quiet, unless a part fails: then the log of that part is shown. Needs neither git nor a clone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
usage: launch/setup.sh [PRESET] [--target NAME]... [--tools] [--page] [--configure-only] [--help]

  PRESET            release (default), debug, asan or cuda: see CMakePresets.json
  --target NAME     build this target only, e.g. penstock
  --tools           also install clang-format and clang-tidy, for launch/check.sh
  --page            also install emscripten, for the sliders of `penstock schedule --format html`, and chromium,
                    which tests them (380 MB to fetch, 1.8 GB on disk), where apt-get has them
  --configure-only  stop before compiling

Missing packages come from apt-get, with sudo when not root. Environment:
  PENSTOCK_INSTALL=no   install nothing: the libraries come from elsewhere (modules, Spack, /usr/local)
  PENSTOCK_JOBS=N       compile N files at a time (default: one per core and per 1.5 GB of free memory)

Exit codes: 0 built; 1 does not compile; 2 bad usage; 3 a package or a right is missing.
END
}

# shellcheck source=launch/packages.sh
. "$root/launch/packages.sh"
packages=("${toolchain[@]}" "${libraries[@]}")
tools=(clang-format-14 clang-tidy-14 libomp-14-dev)  # the last for clang's own omp.h
page=(emscripten chromium fonts-dejavu-core)               # nothing fails without them: a page without sliders, tests skipped

preset=release
targets=()
extras=()
configure_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --tools) packages+=("${tools[@]}") ;;
    --page) extras=("${page[@]}") ;;
    --configure-only) configure_only=yes ;;
    --target) targets+=(--target "${2:?--target needs a name}"); shift ;;
    release | debug | asan | cuda) preset=$1 ;;
    *) echo "setup.sh: unknown argument '$1'; see launch/setup.sh --help" >&2; exit 2 ;;
  esac
  shift
done

build=$root/build/$preset
log=$build/setup.log
if ! { mkdir -p "$build" && : >>"$log"; } 2>/dev/null; then
  echo "setup.sh: cannot write to $build: work on a copy of the tree that is yours" >&2
  exit 3
fi

say() { echo "== $*"; }

# give_up CODE LINE...: the end of the log, then what is wrong and what to do.
give_up() {
  local code=$1
  shift
  { tail -n 60 "$log"; printf '\nsetup.sh: %s\n' "$1"; shift; printf '  %s\n' "$@"; echo "  the whole log: $log"; } >&2
  exit "$code"
}

# Runs apt-get as root, by sudo where we are not; sudo asks for a password only where somebody can answer.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# missing PACKAGE...: those that are not installed.
missing() {
  local installed
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
  printf '%s\n' "$@" | grep --invert-match --line-regexp --fixed-strings "$installed" | tr '\n' ' ' || true
}

# fetch PACKAGE...: by apt-get, with its talk in the log.
fetch() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  { as_root "${apt[@]}" update && as_root "${apt[@]}" install --no-install-recommends "$@"; } >"$log" 2>&1
}

install_packages() {
  local absent
  absent=$(missing "${packages[@]}")
  [ -n "$absent" ] || return 0
  say "Installing with apt-get: $absent"
  # shellcheck disable=SC2086  # one word a package
  fetch $absent ||
    give_up 3 "these packages could not be installed: $absent" \
      "install them by other means, or, where the libraries come from elsewhere, set PENSTOCK_INSTALL=no"
}

# What a build can do without: where it cannot be had, that is said and nothing more.
install_extras() {
  local absent
  [ ${#extras[@]} -gt 0 ] || return 0
  absent=$(missing "${extras[@]}")
  [ -n "$absent" ] || return 0
  say "Installing with apt-get, for the page and its tests: $absent"
  # shellcheck disable=SC2086
  fetch $absent || say "They could not be installed; without them the page has no sliders, or its tests are skipped"
}

configure() {
  local fresh=()
  # A tree that was copied or moved with its build directory: CMake refuses to go on with the old cache.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  (cd "$root" && cmake "${fresh[@]}" --preset "$preset") >"$log" 2>&1 ||
    give_up 3 "CMake could not configure: a library is missing, or too old. Needed, by their Debian names:" \
      "${packages[*]}"
}

# One compiler per core, but not more than the free memory feeds (1.5 GB each), inside a container's limit too.
jobs() {
  local cores kilobytes limit
  cores=$(nproc)
  kilobytes=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  [ "$limit" = max ] || kilobytes=$((limit / 1024 < kilobytes ? limit / 1024 : kilobytes))
  local fed=$((${kilobytes:-1500000} / 1500000))
  [ "$fed" -ge 1 ] || fed=1
  echo $((fed < cores ? fed : cores))
}

compile() {
  local command=(cmake --build "$build" --parallel "${PENSTOCK_JOBS:-$(jobs)}" "${targets[@]}")
  if [ -t 1 ]; then  # ninja's own live line, and its own report of a failure
    "${command[@]}" || { echo "setup.sh: the code does not compile; the message is above" >&2; exit 1; }
  else
    "${command[@]}" >"$log" 2>&1 || give_up 1 "the code does not compile; the message is above"
  fi
}

if [ "${PENSTOCK_INSTALL:-yes}" != no ] && command -v apt-get >/dev/null; then
  install_packages
  install_extras
fi
for program in cmake ninja c++ mpirun; do
  command -v "$program" >/dev/null || {
    printf '%s\n' "setup.sh: '$program' is not installed. Needed, by their Debian names:" "  ${packages[*]}" >&2
    exit 3
  }
done
configure
[ "$configure_only" = no ] || exit 0
start=$SECONDS
say "Building $preset in build/$preset (the first time takes minutes)"
compile
say "Built in $((SECONDS - start)) s"
