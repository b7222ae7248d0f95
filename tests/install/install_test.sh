#!/usr/bin/env bash
# What `cmake --install` leaves, moved elsewhere: the program runs, and a network of one's own builds against the package and trains.
# And the tree configures inside another project.
#   install_test.sh SOURCE BUILD
set -euo pipefail
source=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cmake --install "$build" --prefix "$folder/first" >install.log
mv first moved
moved/bin/penstock --version
moved/bin/penstock schedule --schedule zb-h1 --stages 3 --micro-batches 4 >/dev/null
# Nothing that is read later says where it was installed, and libraries that somebody puts beside the program are found there.
if grep -rl "$folder/first" moved/share moved/lib/cmake; then exit 1; fi
library=$(ldd moved/bin/penstock | sed -n 's|.* => \(/.*libxxhash[^ ]*\) .*|\1|p')
cp "$library" moved/lib/
ldd moved/bin/penstock | grep "$folder/moved/bin/../lib/${library##*/}" >/dev/null
# Where there are kernels for several levels (PENSTOCK_ARCH is a list), they have moved along: the best is taken, or the first.
if [ -d moved/lib/glibc-hwcaps ]; then
  read -ra levels <<<"$(sed -n 's/^PENSTOCK_ARCH:[A-Z]*=//p' "$build/CMakeCache.txt" | tr ';' ' ')"
  loader=$(ldd moved/bin/penstock | sed -n 's|^[[:space:]]*\(/[^ ]*/ld-[^ ]*\) .*|\1|p')
  best=${levels[0]} place=lib
  for level in "${levels[@]:1}"; do
    if "$loader" --help | grep -q "^ *$level (supported"; then best=$level place=lib/glibc-hwcaps/$level; fi
  done
  moved/bin/penstock --version | grep "^kernels for $best, of "
  ldd moved/bin/penstock | grep "$folder/moved/bin/../$place/libpenstock_kernels.so" >/dev/null
  "$loader" --glibc-hwcaps-mask none moved/bin/penstock --version | grep "^kernels for ${levels[0]}, of "
  moved/bin/penstock info --device cpu | grep "^kernels  *for $best, of "
fi
# Manual page, completion, examples, job scripts, pages, where they are looked for.
grep -q '^\.SS penstock schedule' moved/share/man/man1/penstock.1
# shellcheck source=/dev/null
. moved/share/bash-completion/completions/penstock
COMP_WORDS=(penstock sched) COMP_CWORD=1 COMPREPLY=()
"$(complete -p penstock | sed 's/.*-F \([^ ]*\) .*/\1/')"
[ "${COMPREPLY[*]}" = schedule ]
for file in share/penstock/examples/quickstart.toml share/penstock/batch/slurm.sh share/doc/penstock/README.md share/doc/penstock/docs/install.md; do
  [ -f "moved/$file" ]
done
moved/share/penstock/supervise.sh --mpirun echo -- run.toml | grep "$folder/moved/bin/penstock train run.toml" >/dev/null

mkdir outside
cp "$source/launch/examples/own_network.cpp" outside/my_network.cpp
cp "$source"/launch/examples/own_layer{.h,_test.cpp} outside/
cat >outside/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.24)
project(outside LANGUAGES CXX)
find_package(penstock REQUIRED)
add_executable(my_network my_network.cpp)
target_link_libraries(my_network PRIVATE penstock::penstock)
add_executable(own_layer_test own_layer_test.cpp)
target_link_libraries(own_layer_test PRIVATE penstock::penstock)
END
cmake -S outside -B outside/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/moved" >outside.log
cmake --build outside/build >>outside.log
[ ! -d moved/lib/glibc-hwcaps ] || outside/build/my_network --version | grep "^kernels for $best, of "
"$build/ranks.sh" -n 2 outside/build/my_network train moved/share/penstock/examples/own_network.toml --stages 2 --steps 2 \
  --out run >run.txt
outside/build/own_layer_test
grep -q '"kind": *"gated-unit"' <(outside/build/my_network inspect run/run.toml --json)

mkdir inside
cp outside/my_network.cpp inside
cat >inside/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.24)
project(inside LANGUAGES CXX)
add_subdirectory($source penstock)
add_executable(my_network my_network.cpp)
target_link_libraries(my_network PRIVATE penstock::penstock)
END
cmake -S inside -B inside/build -G Ninja -DPENSTOCK_TESTS=OFF -DPENSTOCK_CUDA=OFF >inside.log
echo passed
