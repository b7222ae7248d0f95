// kernels/cuda/no_cuda.cpp -- stands for the CUDA backend in a build without the toolkit.
#include "kernels/cuda/why_no_cuda.h"
#include "kernels/device.h"

namespace penstock {

std::vector<std::string> cuda_devices() {
  return {};
}

std::string why_no_cuda() {
  const std::string missing = cuda_left_out();
  return "this program was built without the CUDA backend: " +
         (missing.empty() ? "install the CUDA toolkit, cuDNN and NCCL" : missing) +
         ", and configure with -DPENSTOCK_CUDA=ON";
}

std::string cuda_left_out() {
  return kWhyNoCuda;
}

GpuIdentity cuda_identity(int /*ordinal*/) {
  fail_resource(why_no_cuda());
}

std::unique_ptr<Device> make_cuda_device(int /*ordinal*/, bool /*graphs*/,
                                         int /*spare_processors*/) {
  fail_resource(why_no_cuda() + ", or use --device cpu");
}

}  // namespace penstock
