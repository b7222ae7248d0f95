// kernels/cuda/no_cuda.cpp -- stands in for the CUDA backend in a build without it.
#include "kernels/device.h"

namespace penstock {

std::vector<std::string> cuda_devices() {
  return {};
}

std::unique_ptr<Device> make_cuda_device(int /*ordinal*/) {
  fail_resource(
      "this build has no CUDA backend: use --device cpu, or a build whose CUDA backend is there "
      "(cmake -DPENSTOCK_CUDA=ON)");
}

}  // namespace penstock
