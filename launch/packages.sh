# The Debian packages that Penstock is built with and on: Debian 12 and later, Ubuntu 24.04 and later.
# Sourced by launch/setup.sh, which installs them, and launch/bundle.sh, which carries the libraries away.
# shellcheck shell=bash disable=SC2034
toolchain=(build-essential cmake ninja-build)
open_mpi=(libopenmpi-dev openmpi-bin)
mpich=(libmpich-dev mpich)                           # in the place of Open MPI, or beside it: launch/setup.sh --mpi mpich
libraries=(
  libdnnl-dev ocl-icd-opencl-dev  # the latter because oneDNN's CMake package asks for it
  libboost-program-options-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev
  libhwloc-dev libarchive-dev libjpeg-dev libpng-dev libxxhash-dev libsentencepiece-dev
  libpcre2-dev libicu-dev
  libomp5  # OpenMP that keeps its threads (cmake/PenstockOpenMP.cmake)
)
test_libraries=(libgtest-dev libgmock-dev)           # the tests alone
test_tools=(python3 iproute2)                        # likewise: they kill ranks, read checkpoints, and make hosts of namespaces
tools=(clang-format-14 clang-tidy-14 libomp-14-dev)  # launch/check.sh; the last for clang's own omp.h
sanitizers=(clang-14 libclang-rt-14-dev libomp-14-dev)  # presets asan and tsan, which GCC takes 1.8 times as long for
page=(chromium fonts-dejavu-core librsvg2-bin)       # the tests of the pages in a browser, which are skipped without
slurm=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)  # likewise
