// kernels/device_model.h -- DeviceModel: what is known of an accelerator without having it. The
// counting device (kernels/counting) turns operations into seconds with these numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/shape.h"

namespace penstock {

// What kernels/cpu finds out about a processor. The defaults are those of a server with AVX-512 and
// bf16 products (Cooper Lake, Zen 4 and newer).
struct Processor {
  bool bf16 = true;    // multiplies bf16 numbers itself; else they are emulated
  bool avx512 = true;  // else 256-bit vectors: half the speed, filters in blocks of 8 channels
};

// Public peak figures, and the share of them that well-written kernels reach. An op takes
//   max(FLOPs / rate, bytes / bandwidth) + overhead      (Williams et al. 2009, the roofline).
struct DeviceModel {
  std::string name;
  double matmul_flops_fp32 = 0;  // FLOP/s of products of fp32 numbers
  double matmul_flops_bf16 = 0;
  std::string peak_from;         // where those come from: "published for H100 SXM"
  double matmul_efficiency = 1;  // the share of those that is reached
  double memory_bytes_per_s = 0;
  double memory_efficiency = 1;
  double op_overhead_s = 0;  // to start an op
  int64_t memory_bytes = 0;
  // Has memory of its own, into which a step's data are copied; else it reads the host's.
  bool own_memory = false;
  // Keeps copies of every filter in the library's own layouts, one for the forward and one for the
  // input gradient, and scratch memory by thread, as kernels/cpu does. All other weights are read
  // as they are in fp32 and from one narrowed copy in bf16.
  bool packs_filters = false;
  int filter_block = 16;  // channels in a block of those layouts
  // Multiplies bf16 numbers and applies functions to them in fp32: what is read is widened into
  // scratch memory and what is written is rounded from there, as kernels/cpu does on a processor
  // without bf16 products.
  bool emulates_bf16 = false;
  int threads = 1;  // of kernels/cpu
  // Computes attention in bf16, where there is neither dropout nor a list of lengths, as a fused
  // graph of cuDNN, whose backward keeps a workspace (kernels/cuda/attention/attention_cut.h).
  bool fuses_attention = false;
  // Computes gelu in its tanh form in one pass with the bf16 products before and after it, as
  // cuBLASLt does: DenseOps::fused_linear_activation. Both its argument and its result are kept.
  bool fuses_gelu = false;

  // The peak that reached FLOP/s are a share of.
  [[nodiscard]] double matmul_peak(DType dtype) const {
    return dtype == DType::BF16 ? matmul_flops_bf16 : matmul_flops_fp32;
  }
  // FLOP/s that products of numbers of that type reach.
  [[nodiscard]] double matmul_rate(DType dtype) const {
    return matmul_efficiency * matmul_peak(dtype);
  }
  [[nodiscard]] double memory_rate() const { return memory_efficiency * memory_bytes_per_s; }
};

// What the maker's data sheet says of a part: dense products, fp32 without TF32, in FLOP/s.
struct PublishedPeak {
  const char* part;
  double fp32, bf16;
};
// By the name that the driver gives the part. Null for parts that are not in this table, whose
// boards run at other clocks (PCIe, NVL), and for a slice of one (MIG).
[[nodiscard]] const PublishedPeak* published_peak(std::string_view device_name);

// kernels/cpu on such a processor; the rate grows with `threads` (>= 1).
[[nodiscard]] DeviceModel cpu_model(const Processor& processor, int threads = 1);

// h200 | h100 | a100 | v100-16gb | v100-32gb | p100 | tpu-v2 | tpu-v3 (one core each) | cpu, which
// is cpu_model() of the processor at hand: ranks on several kinds of machines get different
// answers. Throws Error(Input) listing these names.
[[nodiscard]] DeviceModel device_model_named(const std::string& name, int threads = 1);

}  // namespace penstock
