# Finds the libraries for tests/gpu/run.sh, which sources this with $root (the tree) and $tree (its build folder) set: those of the
# system, those of an unpacked pack (pack.py) or of a bundle (launch/bundle.sh), and cuDNN, NCCL and cuBLAS from the toolkit or else from python3's packages.
# shellcheck shell=bash disable=SC2154,SC2034

foreign=${LD_LIBRARY_PATH-}  # what python3 and PyTorch run with
bundle=${PENSTOCK_BUNDLE:-$root/bundle}
if [ -f "$tree/activate.sh" ]; then bundle=$tree; fi
if [ -f "$bundle/activate.sh" ]; then
  # shellcheck source=/dev/null
  . "$bundle/activate.sh" || exit 2
fi
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
command -v nvcc >/dev/null || PATH=${CUDA_HOME:-/usr/local/cuda}/bin:$PATH
toolkit=
if command -v nvcc >/dev/null; then toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")"); fi

# has HEADER: it lies where the toolkit or the compiler keeps its headers.
has() {
  local file
  for file in "$toolkit/include/$1" "$toolkit"/targets/*/include/"$1" /usr/include/"$1" /usr/include/*/"$1"; do
    [ ! -e "$file" ] || return 0
  done
  return 1
}

# Python's NVIDIA packages hold libraries without the names that a linker looks for: a folder of links has both.
# link_packages HEADER LIBRARY: links every package that holds the header into $tree/nvidia, if the toolkit has none.
link_packages() {
  local header=$1 library=$2 package file part
  ! has "$header" || return 0
  for package in $(python3 -c 'import site; print(*site.getsitepackages())' 2>/dev/null); do
    for file in "$package"/nvidia/*/include/"$header"; do
      [ -e "$file" ] || continue
      mkdir -p "$tree/nvidia/include" "$tree/nvidia/lib"
      ln -sf "$(dirname "$file")"/* "$tree/nvidia/include/"
      ln -sf "$(dirname "$file")"/../lib/*.so* "$tree/nvidia/lib/"
      for part in "$tree/nvidia/lib/$library".so.*; do
        [ ! -e "$part" ] || ln -sf "$(basename "$part")" "$tree/nvidia/lib/$library.so"
      done
      return 0
    done
  done
}
rm -rf "$tree/nvidia"
link_packages cudnn.h libcudnn
link_packages nccl.h libnccl
link_packages cublasLt.h libcublasLt
link_packages cudnn_frontend.h libcudnn_frontend
if [ -d "$tree/nvidia" ]; then
  export CUDNN_ROOT=$tree/nvidia NCCL_ROOT=$tree/nvidia
  export CMAKE_PREFIX_PATH=$tree/nvidia${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export CPATH=$tree/nvidia/include${CPATH:+:$CPATH}
  export LD_LIBRARY_PATH=$tree/nvidia/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
# What the libraries open by name while they run (NVRTC, for one) lies in the toolkit too.
if [ -d "$toolkit/lib64" ]; then export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64; fi
