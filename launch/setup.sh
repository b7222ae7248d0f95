#!/usr/bin/env bash
# Brings a machine from bare to built: installs the missing packages, configures, compiles, and says beforehand how much that is.
# Quiet else, unless a part fails: then the log of that part is shown. Needs neither git nor a clone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
usage: launch/setup.sh [PRESET] [--program | --target NAME...] [--mpi NAME] [--cuda] [--page] [--slurm] [--tools]
                       [--configure-only] [--help]

  PRESET            release (default), debug, asan, tsan or cuda: see CMakePresets.json; asan and tsan are compiled by Clang
                    (3 packages more) unless CXX or an earlier configuration of the tree names another compiler
  --program         the program `penstock` alone: installs and compiles nothing that only the tests need
  --target NAME     build this target only
  --mpi NAME        openmpi (default) or mpich, which is built in build/PRESET-mpich; Debian has both at a time. Others are found as
                    docs/mpi.md says
  --cuda            where there is a CUDA toolkit, compile the CUDA backend even without a GPU, for one architecture, and
                    its tests, which emulate one. Of preset release; without a toolkit nothing happens
                    (where there is one, the headers of NVIDIA's cudnn-frontend are fetched by pip, for fused attention,
                    as they are for preset cuda and where there is a GPU; CUDNN_FRONTEND_ROOT says where they are already)
  --page            also install chromium and rsvg-convert, where apt-get has them, for the tests of the pages and pictures that
                    `penstock schedule`, `report` and `sweep` make: some 190 MB to fetch, 680 MB on disk; without it those tests are skipped
  --slurm           also install Slurm (7 packages, 20 MB to fetch), for the test of launch/batch/slurm.sh, which starts one
                    of its own; without it that test is skipped
  --tools           also install clang-format and clang-tidy, for launch/check.sh
  --configure-only  stop before compiling

The CUDA backend is built where there are a toolkit (nvcc), a GPU, cuDNN and NCCL; where only some of them are there, one line
says what is missing. A tree built with it stays so. `launch/setup.sh cuda` insists, for all architectures if there is no GPU.

Missing packages come from apt-get, with sudo when not root. Environment:
  PENSTOCK_INSTALL=no   install nothing: the libraries come from elsewhere (modules, Spack, /usr/local)
  PENSTOCK_JOBS=N       compile N files at a time (default: one per core and per 1.5 GB of free memory)
  CI=true               the compiler's warnings are errors (PENSTOCK_WERROR), as they are in continuous integration

Exit codes: 0 built; 1 does not compile; 2 bad usage; 3 a package or a right is missing.
END
}

# shellcheck source=launch/packages.sh
. "$root/launch/packages.sh"
# shellcheck source=launch/frontend.sh
. "$root/launch/frontend.sh"
# shellcheck source=launch/cores.sh
. "$root/launch/cores.sh"

preset=release
program=no
mpi=openmpi
cuda=no
names=()
also=()
with_page=no
with_slurm=no
configure_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --program) program=yes; names=(penstock) ;;
    --target) names+=("${2:?--target needs a name}"); shift ;;
    --mpi) mpi=${2:?--mpi needs a name}; shift ;;
    --cuda) cuda=yes ;;
    --tools) also=("${tools[@]}") ;;
    --page) with_page=yes ;;
    --slurm) with_slurm=yes ;;
    --configure-only) configure_only=yes ;;
    release | debug | asan | tsan | cuda) preset=$1 ;;
    *) echo "setup.sh: unknown argument '$1'; see launch/setup.sh --help" >&2; exit 2 ;;
  esac
  shift
done
place=$preset  # below build/
starter=mpirun
case $mpi in
  openmpi) packages=("${open_mpi[@]}") ;;
  mpich) packages=("${mpich[@]}") place=$preset-mpich starter=mpiexec.mpich ;;
  *) echo "setup.sh: --mpi is openmpi or mpich, not '$mpi'; docs/mpi.md has the others" >&2; exit 2 ;;
esac
packages+=("${toolchain[@]}" "${libraries[@]}")
[ "$program" = yes ] || packages+=("${test_libraries[@]}" "${test_tools[@]}")
case $preset in asan | tsan) packages+=("${sanitizers[@]}") ;; esac
packages+=("${also[@]}")

build=$root/build/$place
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
  { tail -n 60 "$log"; printf '\nsetup.sh: %s\n' "$1"; shift; [ $# -eq 0 ] || printf '  %s\n' "$@"; echo "  the whole log: $log"; } >&2
  exit "$code"
}

# ---- packages

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
apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=300)

# missing PACKAGE...: those that are not installed.
missing() {
  local installed
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
  printf '%s\n' "$@" | grep --invert-match --line-regexp --fixed-strings "$installed" | tr '\n' ' ' || true
}

# announce PURPOSE PACKAGE...: what is about to be installed, in apt-get's own figures where it gives them.
announce() {
  local purpose=$1 plan number megabytes disk
  shift
  plan=$(as_root "${apt[@]}" install --assume-no --no-install-recommends "$@" </dev/null 2>>"$log") || true
  number=$(sed -n 's/.* \([0-9]*\) newly installed.*/\1/p' <<<"$plan")
  megabytes=$(sed -n 's|^Need to get \([^/]*/\)\?\([0-9.,]* [kMG]\?B\)\(/.*\)\? of archives.*|\2|p' <<<"$plan")
  disk=$(sed -n 's/^After this operation, \(.*\) of additional disk space.*/\1/p' <<<"$plan")
  say "Installing$purpose with apt-get${number:+, $number packages${megabytes:+, $megabytes to fetch}${disk:+, $disk on disk}}: $*"
}

# install PURPOSE PACKAGE...: by apt-get, with its talk in the log.
install() {
  local purpose=$1
  shift
  [ -n "${refreshed-}" ] || as_root "${apt[@]}" update >"$log" 2>&1 || return 1
  refreshed=yes
  announce "$purpose" "$@"
  as_root "${apt[@]}" install --assume-yes --no-install-recommends "$@" >"$log" 2>&1
}

install_packages() {
  local absent
  read -ra absent <<<"$(missing "${packages[@]}")"
  [ ${#absent[@]} -gt 0 ] || return 0
  install "" "${absent[@]}" ||
    give_up 3 "these packages could not be installed: ${absent[*]}" \
      "install them by other means, or, where the libraries come from elsewhere, set PENSTOCK_INSTALL=no"
}

# install_extras PURPOSE WITHOUT PACKAGE...: what a build can do without: where it cannot be had, that is said and nothing more.
install_extras() {
  local purpose=$1 without=$2 absent
  shift 2
  read -ra absent <<<"$(missing "$@")"
  [ ${#absent[@]} -gt 0 ] || return 0
  install " $purpose" "${absent[@]}" || say "They could not be installed; without them $without"
}

install_all_extras() {
  [ "$with_page" = no ] ||
    install_extras "a browser, which only the tests of the pages start" "those tests are skipped" "${page[@]}"
  [ "$with_slurm" = no ] ||
    install_extras "a Slurm, which only the test of launch/batch/slurm.sh starts" "that test is skipped" "${slurm[@]}"
}

# ---- headers of fused attention

# builds_cuda: whether the backend will be compiled, as far as can be told before CMake looks.
builds_cuda() {
  case $preset in
    cuda) ;;
    release) [ "$cuda" = yes ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1 ;;
    *) return 1 ;;
  esac
  [ "$(cached PENSTOCK_CUDA)" != OFF ] || return 1
  [ -n "${CUDACXX-}" ] || command -v nvcc >/dev/null || [ -x "${CUDA_PATH:-${CUDA_HOME:-/usr/local/cuda}}/bin/nvcc" ]
}

# What the backend can do without: where it cannot be had, that is said and nothing more.
fetch_headers() {
  local ours=$root/build/cudnn-frontend
  frontend=${CUDNN_FRONTEND_ROOT:-$(cached CUDNN_FRONTEND_ROOT)}
  [ -z "$frontend" ] || [ "$frontend" = "$ours" ] || return 0
  frontend=
  builds_cuda || return 0
  if [ "${PENSTOCK_INSTALL:-yes}" != no ]; then
    if command -v apt-get >/dev/null && ! python3 -m pip --version >/dev/null 2>&1; then
      install " what only fetching the headers of cuDNN's fused attention needs" python3-pip ||
        say "It could not be installed"
    fi
    fetch_frontend "$ours" >"$log" 2>&1 || true
  fi
  if [ -d "$ours/include" ]; then frontend=$ours; return 0; fi
  say "No cudnn-frontend $frontend_version to be had by pip: the backend is built without cuDNN's fused attention"
}

# ---- configuration

# cached NAME: what the tree's last configuration holds for it, if there was one.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null || true; }

configure() {
  local options=() left_out parts
  # A tree that was copied or moved with its build directory: CMake refuses to go on with the old cache.
  if [ -f "$build/CMakeCache.txt" ] && [ "$(cached CMAKE_HOME_DIRECTORY)" != "$root" ]; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  # GCC takes 1.8 times as long as Clang where there are sanitizers. A tree that has another compiler keeps it.
  case $preset in
    asan | tsan)
      if [ -z "$(cached CMAKE_CXX_COMPILER)${CXX-}" ] && command -v clang++-14 >/dev/null; then
        options+=(-DCMAKE_CXX_COMPILER=clang++-14)
      fi
      ;;
  esac
  # The presets have tests; a tree that was configured with them keeps them.
  if [ "$program" = yes ] && [ "$(cached PENSTOCK_TESTS)" != ON ]; then options+=(-DPENSTOCK_TESTS=OFF); fi
  # Somebody's own ON or OFF stays, and the OFF of other presets.
  if [ "$cuda" = yes ] && [ "$preset" = release ] && [[ $(cached PENSTOCK_CUDA) =~ ^(AUTO)?$ ]]; then
    options+=(-DPENSTOCK_CUDA=TOOLKIT)
  fi
  [ "$mpi" = openmpi ] || options+=(-DMPI_CXX_COMPILER="$(command -v mpicxx.mpich)" -DMPIEXEC_EXECUTABLE="$(command -v "$starter")")
  [ -z "$frontend" ] || options+=("-DCUDNN_FRONTEND_ROOT=$frontend")
  case ${CI-} in
    '' | 0 | false) ;;
    *) options+=(-DPENSTOCK_WERROR=ON) ;;
  esac
  (cd "$root" && cmake --preset "$preset" -B "$build" "${options[@]}") >"$log" 2>&1 ||
    give_up 3 "CMake could not configure: a library is missing, or too old. Needed, by their Debian names:" \
      "${packages[*]}"
  left_out=$(sed -n 's/^-- Penstock: \(CUDA backend OFF: .*\)/\1/p' "$log")
  [ -z "$left_out" ] || say "$left_out"
  parts=$(sed -n 's/^-- Penstock: \(built without .*\)/\1/p' "$log")
  [ -z "$parts" ] || say "The program is $parts"
}

# ---- compiling

# One compiler per core, but not more than the free memory feeds (1.5 GB each), inside a container's limits too.
jobs() {
  local cores kilobytes limit
  cores=$(usable_cores)
  kilobytes=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  [ "$limit" = max ] || kilobytes=$((limit / 1024 < kilobytes ? limit / 1024 : kilobytes))
  local fed=$((${kilobytes:-1500000} / 1500000))
  [ "$fed" -ge 1 ] || fed=1
  echo $((fed < cores ? fed : cores))
}

# weigh FIRST: the work in the steps of $plan from that one on, where compiling what probe() compiles is 10: what files of a kind
# took on average when both were measured, in CPU time (GCC 12 with precompiled headers, nvcc 13). Sources that are compiled together
# (PENSTOCK_UNITY) take less each than one by itself, and the most of them stand last.
weigh() {
  awk -v first="$1" -v architectures="$architectures" -v build="$build" '
    function sources(object, n, path, line) {
      path = build "/" object
      sub(/[.]o$/, "", path)
      while ((getline line < path) > 0) if (line ~ /^#include "/) ++n
      close(path)
      return n ? n : 1
    }
    NR < first { next }
    /CUDA object/ { sum += 70 + 80 * architectures; next }
    /CXX object tests/ { sum += 50; next }
    /CXX object/ { sum += 8 + 4 * sources($NF); next }
    /Linking CXX executable/ { sum += 10; next }
    { sum += 1 }
    END { print int(sum) }' "$plan"
}

# probe: milliseconds that a small file takes here, compiled as many times at once as there will be compilers.
probe() {
  local start=${EPOCHREALTIME/[.,]/} i
  for ((i = 0; i < jobs; ++i)); do
    c++ -x c++ -std=c++20 -O2 -c -o /dev/null - >/dev/null 2>&1 <<<'#include <algorithm>
      #include <string>
      #include <vector>
      void f(std::vector<std::string>& v) { std::sort(v.begin(), v.end()); }' &
  done
  wait
  echo $(((${EPOCHREALTIME/[.,]/} - start) / 1000))
}

# duration SECONDS, roughly SECONDS: in words.
duration() { if [ "$1" -lt 60 ]; then echo "$1 s"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi; }
roughly() { if [ "$1" -lt 55 ]; then echo "about $((($1 + 9) / 10 * 10)) s"; else echo "about $((($1 + 30) / 60)) min"; fi; }

# progress: a line every 15 s, for as long as the script runs.
progress() {
  local step spent left all
  all=$(weigh 1)
  while sleep 15 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    step=$(sed -n 's|^\[\([0-9]*\)/[0-9]*\] .*|\1|p' "$log" | tail -n 1)
    spent=$((SECONDS - start))
    left=$(weigh $((${step:-0} + 1)))
    if [ $((left * 10)) -lt $((all * 9)) ]; then  # what was done tells more than what was expected
      left=$((spent * left / (all - left)))
    else
      left=$((expected > spent + 10 ? expected - spent : 10))
    fi
    say "${step:-0} of $steps compiled, $(duration $spent), $(roughly $left) left"
  done
}

compile() {
  local jobs=${PENSTOCK_JOBS:-$(jobs)} plan=$build/setup.plan steps architectures expected start=$SECONDS
  local command=(cmake --build "$build" --parallel "$jobs")
  [ ${#names[@]} -eq 0 ] || command+=(--target "${names[@]}")
  if ! ninja -C "$build" -n "${names[@]}" >"$plan" 2>&1; then
    echo "setup.sh: $(tail -n 1 "$plan")" >&2
    exit 2
  fi
  sed -i '/^\[/!d' "$plan"
  steps=$(wc -l <"$plan")
  if [ "$steps" -eq 0 ]; then
    say "build/$place is up to date"
    return
  fi
  architectures=$(sed -n 's/^-- Penstock: CUDA sources compiled for \(.*\)/\1/p' "$log" | wc -w)
  expected=$(($(weigh 1) * $(probe) / 10000 / jobs))
  say "Building $preset in build/$place: $steps steps, $jobs at a time, $(roughly $expected)"
  if [ -t 1 ]; then  # ninja's own live line, and its own report of a failure
    "${command[@]}" || { echo "setup.sh: the code does not compile; the message is above" >&2; exit 1; }
  else
    progress &
    reporter=$!
    trap 'kill "$reporter" 2>/dev/null || true' EXIT
    "${command[@]}" >"$log" 2>&1 || give_up 1 "the code does not compile; the message is above"
  fi
  say "Built in $(duration $((SECONDS - start)))"
}

if [ "${PENSTOCK_INSTALL:-yes}" != no ] && command -v apt-get >/dev/null; then
  install_packages
  install_all_extras
fi
for needed in cmake ninja c++ "$starter"; do
  command -v "$needed" >/dev/null || {
    printf '%s\n' "setup.sh: '$needed' is not installed. Needed, by their Debian names:" "  ${packages[*]}" >&2
    exit 3
  }
done
fetch_headers
configure
[ "$configure_only" = no ] || exit 0
compile
