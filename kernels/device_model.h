// kernels/device_model.h -- DeviceModel: the speeds and the memory of a device, and how its
// libraries work, for a device that need not be here. The counting device (kernels/counting) turns
// operations into seconds with these numbers. A new GPU is a row of accelerators() in
// device_model.cpp, and its links one of runtime/planning/costs/interconnects.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shape.h"

namespace penstock {

// The facts that kernels/cpu finds out about a processor. The defaults are those of a server with
// AVX-512 and bf16 products (Cooper Lake, Zen 4 and newer).
struct Processor {
  bool bf16 = true;      // multiplies bf16 numbers itself; else they are emulated
  bool avx512 = true;    // else 256-bit vectors: half the speed, filters in blocks of 8 channels
  bool amx = false;      // multiplies tiles of bf16 numbers (Sapphire Rapids and newer)
  bool at_hand = false;  // is that of this process
};

// How kernels/cpu's library lays out the channels of a filter on a processor that is not here: in
// blocks of 8 (AVX2) or of 16 (AVX-512), or, with AMX, bf16 filters in tiles and others in blocks
// of 16. These are the layouts of oneDNN 2.6.
enum class FilterBlocks : uint8_t { Of8, Of16, Tiles };

// The operands of linear layers' products that kernels/cpu's library multiplies from copies: none,
// some with rows made longer (AVX2), or bf16 ones in the order of tiles (AMX). Which ones they are
// is decided in kernels/cpu/operands.h.
enum class OperandCopies : uint8_t { None, PaddedRows, Tiles };
// Returns which of these kernels/cpu uses on that processor.
[[nodiscard]] OperandCopies operand_copies(const Processor& processor);

// The kinds of matrix products that reach different shares of a device's peak.
enum class ProductKind : uint8_t { Linear, Attention, Convolution };

// The speed of matrix products of numbers of one type.
struct ProductSpeed {
  double peak = 0;  // FLOP/s
  // The shares of the peak that products of the usual sizes reach, by kind.
  double linear = 1, attention = 1, convolution = 1;

  [[nodiscard]] double rate(ProductKind kind) const {
    return peak * (kind == ProductKind::Linear      ? linear
                   : kind == ProductKind::Attention ? attention
                                                    : convolution);
  }
};

// The measured speed of the cores of one rank (kernels/cpu/processor/processor_speed.h), in place
// of usual figures. Plain numbers, so that they can be written to files and sent to other ranks.
struct ProcessorSpeed {
  ProductSpeed fp32, bf16;
  double pass_flops = 0;  // operations/s of element-by-element ops on numbers that the cache holds
  double memory_bytes_per_s = 0;  // read or written
  double op_overhead_s = 0;       // to start an op
  int measurements = 0;           // how many were taken; each figure is its fastest
  int undisturbed = 0;            // how many of them had the cores to themselves

  // False where nothing was measured.
  [[nodiscard]] bool known() const { return fp32.peak > 0; }
};

// Peak figures, and the share of them (0 to 1) that well-written kernels reach. An op takes
//   max(FLOPs / rate, bytes / memory_rate()) + op_overhead_s
// seconds (Williams et al. 2009, the roofline). The rate is products().rate(kind) for a matrix
// product and pass_rate() for all other ops.
struct DeviceModel {
  std::string name;
  ProductSpeed fp32, bf16;
  std::string peak_from;  // where the peaks come from: "published for H100 SXM"
  // Operations/s of ops that go over tensors element by element (activations, norms, sums). 0: as
  // many as linear products of fp32 numbers do.
  double pass_flops = 0;
  double memory_bytes_per_s = 0;
  double memory_efficiency = 1;  // the share of memory_bytes_per_s that ops reach
  double op_overhead_s = 0;      // to start an op
  int64_t memory_bytes = 0;
  // Has memory of its own, into which a step's data are copied; else it reads the host's memory.
  bool own_memory = false;
  // Keeps copies of every filter in the library's own layouts, one for the forward and one for the
  // input gradient, and scratch memory by thread, as kernels/cpu does. All other weights are read
  // as they are in fp32 and from one narrowed copy in bf16.
  bool packs_filters = false;
  FilterBlocks filter_blocks = FilterBlocks::Of16;
  // Models the processor of this process: the layouts of filters are those that the library answers
  // when it is asked (kernels/cpu/onednn/filter_form.h), and filter_blocks is not looked at.
  bool at_hand = false;
  // Multiplies bf16 numbers and applies functions to them in fp32: what is read is widened into
  // scratch memory and what is written is rounded from there, as kernels/cpu does on a processor
  // without bf16 products.
  bool emulates_bf16 = false;
  OperandCopies operand_copies = OperandCopies::None;
  int threads = 1;  // of kernels/cpu
  // A library computes attention in bf16 in one fused pass (kernels/cuda/attention/attention_cut.h
  // says which calls), with the workspace that its deterministic backward takes on Hopper.
  bool fuses_attention = false;
  // Computes gelu in its tanh form in one pass with the bf16 products before and after it, as
  // cuBLASLt does: DenseOps::fused_linear_activation. Both its argument and its result are kept.
  bool fuses_gelu = false;

  // The speed of products of numbers of that type.
  [[nodiscard]] const ProductSpeed& products(DType dtype) const {
    return dtype == DType::BF16 ? bf16 : fp32;
  }
  // Operations/s of ops that go over tensors element by element.
  [[nodiscard]] double pass_rate() const {
    return pass_flops > 0 ? pass_flops : fp32.rate(ProductKind::Linear);
  }
  // Bytes/s that ops reach.
  [[nodiscard]] double memory_rate() const { return memory_efficiency * memory_bytes_per_s; }
};

// The figures of a part's data sheet: dense products, fp32 without TF32, in FLOP/s.
struct PublishedPeak {
  const char* part;
  double fp32, bf16;
};
// The peak of the part that the driver calls `device_name`. Null for parts that are not in this
// table, whose boards run at other clocks (PCIe, NVL), and for a slice of one (MIG).
[[nodiscard]] const PublishedPeak* published_peak(std::string_view device_name);

// The model of kernels/cpu on that processor with that many threads. Its speeds are those of
// `speed`, which must have been measured with as many threads; where nothing was measured (known()
// is false), they are usual figures times the threads. Throws Error(Input) for fewer than 1 thread.
[[nodiscard]] DeviceModel cpu_model(const Processor& processor, int threads = 1,
                                    const ProcessorSpeed& speed = {});

// The names that device_model_named() knows: "cpu", then those of accelerators() in
// device_model.cpp, such as "h100".
[[nodiscard]] std::vector<std::string> device_model_names();
// The model of that name; of TPUs, that of one core. "cpu" is cpu_model() of the processor at hand,
// with `threads` and `speed`: ranks on several kinds of machines get different answers. Throws
// Error(Input) listing the names for another one.
[[nodiscard]] DeviceModel device_model_named(const std::string& name, int threads = 1,
                                             const ProcessorSpeed& speed = {});

}  // namespace penstock
