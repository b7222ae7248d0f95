#!/usr/bin/env bash
# Compiles the kernels for oneDNN 3.x, links programs of a tree that has been built to these in the place of its own kernels, and runs them:
# the kernels' tests, and trainings that are cut up in many ways.
#   run.sh [--built DIRECTORY] [--into DIRECTORY]      where not said, build/release and build/other_onednn
# The oneDNN is Debian 13's, fetched with apt-get. It wants the C library of Debian 13, which also serves what was built for an older one:
# the programs are started by the loader of that one. What cannot be fetched is not tested, and one line says so.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
built=$root/build/release
build=$root/build/other_onednn
while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$2 ;;
    --into) build=$2 ;;
    *) echo "run.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift 2
done
built=$(cd "$built" && pwd)
mkdir -p "$build/bin"
build=$(cd "$build" && pwd)
debian=$build/debian13
libraries=$debian/root/usr/lib/$(gcc -print-multiarch)

# fetch: the packages, unpacked below $debian/root. Nothing of the machine's own packages changes.
fetch() {
  local mirror apt
  # shellcheck disable=SC2016  # apt-get itself replaces $(SITE)
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | awk '/debian\/?$/ { site = $0 } END { print site }')
  rm -rf "$debian"
  mkdir -p "$debian/lists" "$debian/cache"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$debian/sources.list"
  apt=(timeout 120 apt-get -q -o Dir::Etc::SourceList="$debian/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$debian/lists" -o Dir::Cache="$debian/cache" -o Acquire::http::Timeout=20 -o APT::Sandbox::User=root)
  "${apt[@]}" update || return 1
  (cd "$debian" && "${apt[@]}" download libdnnl-dev libdnnl3.6 libc6 libstdc++6 libgcc-s1 libgomp1) || return 1
  for package in "$debian"/*.deb; do dpkg -x "$package" "$debian/unpacked" || return 1; done
  mv "$debian/unpacked" "$debian/root"
}

# link PROGRAM: as the tree has linked it, but for kernels, oneDNN and loader.
link() {
  local command flags
  flags=-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath,$libraries,--dynamic-linker=$(echo "$libraries"/ld-linux-*.so.*)
  command=$(ninja -C "$built" -t commands -s "bin/$1" | sed -e "s|kernels/libpenstock_kernels\.a|$build/kernels/libpenstock_kernels.a|g" \
    -e "s|[^ ]*/libdnnl\.so[^ ]*|$libraries/libdnnl.so|g" -e "s|-o bin/|$flags -o $build/bin/|")
  (cd "$built" && eval "$command")
}

if "$built/bin/penstock" info | grep -q '^oneDNN *3\.'; then
  echo "run.sh: the oneDNN of this machine is 3.x, so the tree's own tests are of that one"
  exit 0
fi
if ! [ -e "$libraries/libdnnl.so" ] && ! fetch >"$build/fetch.log" 2>&1; then
  echo "run.sh: SKIPPED: Debian 13's oneDNN could not be fetched ($build/fetch.log), so oneDNN 3.x is not tested here"
  exit 0
fi
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$debian/root/usr" -DPENSTOCK_WERROR=ON \
  -DPENSTOCK_CUDA=OFF -DPENSTOCK_TESTS=OFF "-DPENSTOCK_ARCH=$(sed -n 's/^PENSTOCK_ARCH:.*=\([^;]*\).*/\1/p' "$built/CMakeCache.txt")" >"$build/configure.log"
cmake --build "$build" --target penstock_kernels | tail -n 3
tests=(kernels_onednn_test kernels_dense_test kernels_image_test kernels_loops_test kernels_heap_test)
for program in penstock "${tests[@]}"; do link "$program"; done
"$build/bin/penstock" info | grep -E '^oneDNN +3\.' || { echo "run.sh: the program was not linked to oneDNN 3.x" >&2; exit 1; }

# The forms for AVX2 are those that were seen to pass, and every processor of CI has them.
export ONEDNN_MAX_CPU_ISA=AVX2
# Threads that spin for long while they wait starve each other where several processes run.
export GOMP_SPINCOUNT=300 KMP_BLOCKTIME=0
failed=()
for program in "${tests[@]}"; do
  timeout 300 "$build/bin/$program" --gtest_brief=1 || failed+=("$program")
done
export PENSTOCK_PROGRAM=$build/bin/penstock PENSTOCK_RANKS=$built/ranks.sh XDG_CACHE_HOME=$build/test-cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader  # as in tests/Ranks.cmake
timeout 300 "$built/bin/training_test" --gtest_brief=1 --gtest_filter='*EverySchedule*_on_2_ranks' || failed+=(training_test)
[ ${#failed[@]} -eq 0 ] || { echo "run.sh: with oneDNN 3.x these failed: ${failed[*]}" >&2; exit 1; }
