#include "kernels/device_model.h"

#include <vector>

#include "kernels/cpu/processor.h"
#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// What large products and streaming kernels of the vendors' libraries usually reach of the peak,
// and what a kernel's launch costs from a queue that is never empty.
DeviceModel accelerator(const char* name, double fp32_tera, double bf16_tera, double giga_bytes_s,
                        int64_t gibibytes) {
  return {.name = name,
          .matmul_flops_fp32 = fp32_tera * kTera,
          .matmul_flops_bf16 = bf16_tera * kTera,
          .matmul_efficiency = 0.6,
          .memory_bytes_per_s = giga_bytes_s * kGiga,
          .memory_efficiency = 0.8,
          .op_overhead_s = 5e-6,
          .memory_bytes = gibibytes * kGiB};
}

// Dense products, no sparsity, fp32 without TF32; the NVIDIA ones are the SXM forms. Volta and
// Pascal have no bf16 and compute it in fp32. A TPU multiplies fp32 numbers in bf16 passes unless
// told otherwise; its figures are half of a chip's, which has two cores.
std::vector<DeviceModel> accelerators() {
  std::vector<DeviceModel> all = {
      accelerator("h100", 66.9, 989.4, 3352, 80),    accelerator("a100", 19.5, 312, 2039, 80),
      accelerator("v100-16gb", 15.7, 15.7, 900, 16), accelerator("v100-32gb", 15.7, 15.7, 900, 32),
      accelerator("p100", 10.6, 10.6, 732, 16),      accelerator("tpu-v2", 22.5, 22.5, 350, 8),
      accelerator("tpu-v3", 61.5, 61.5, 450, 16)};
  all.front().fuses_attention = true;  // what its workspace is elsewhere nobody has told
  return all;
}

}  // namespace

// Measured with kernels/cpu on two cores of a server with AVX-512 and its bf16 products: nothing is
// left to take off. The cores share the memory's bandwidth.
DeviceModel cpu_model(const Processor& processor, int threads) {
  if (threads < 1) fail_input("a device model needs at least 1 thread");
  const double fp32 = (processor.avx512 ? 268 : 134) * kGiga * threads;
  return {.name = "cpu",
          .matmul_flops_fp32 = fp32,
          .matmul_flops_bf16 = processor.bf16 ? 524 * kGiga * threads : fp32,
          .memory_bytes_per_s = 33 * kGiga,
          .op_overhead_s = 2e-6,
          .memory_bytes = 16 * kGiB,
          .packs_filters = true,
          .filter_block = processor.avx512 ? 16 : 8,
          .emulates_bf16 = !processor.bf16,
          .threads = threads};
}

DeviceModel device_model_named(const std::string& name, int threads) {
  if (threads < 1) fail_input("a device model needs at least 1 thread");
  if (name == "cpu") return cpu_model(processor_at_hand(), threads);
  std::string known;
  for (const DeviceModel& model : accelerators()) {
    if (model.name == name) return model;
    known += model.name + ", ";
  }
  fail_input("unknown device model '" + name + "'; known are " + known + "cpu");
}

}  // namespace penstock
