// kernels/cuda/no_cuda.cpp -- where the CUDA backend will stand: kernels/CMakeLists.txt takes its
// files instead of this one when there is a toolkit. Until then there are no CUDA devices.
#include "kernels/device.h"

namespace penstock {

std::vector<std::string> cuda_devices() {
  return {};
}

std::unique_ptr<Device> make_cuda_device(int /*ordinal*/) {
  fail_resource("this version of Penstock has no CUDA backend yet: use --device cpu");
}

}  // namespace penstock
