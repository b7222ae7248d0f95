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

mkdir outside
cp "$source/launch/examples/own_network.cpp" outside/my_network.cpp
cat >outside/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.24)
project(outside LANGUAGES CXX)
find_package(penstock REQUIRED)
add_executable(my_network my_network.cpp)
target_link_libraries(my_network PRIVATE penstock::penstock)
END
cmake -S outside -B outside/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/moved" >outside.log
cmake --build outside/build >>outside.log
mpirun --oversubscribe --bind-to none -n 2 outside/build/my_network train moved/share/penstock/examples/own_network.toml --stages 2 --steps 2 \
  --out run >run.txt
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
cmake -S inside -B inside/build -G Ninja -DPENSTOCK_TESTS=OFF -DPENSTOCK_CUDA=OFF -DPENSTOCK_PAGE=OFF >inside.log
echo passed
