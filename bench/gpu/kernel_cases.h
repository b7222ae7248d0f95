// bench/gpu/kernel_cases.h -- KernelCase: the ops that kernel_bench times, with operands of the
// sizes that they have in training.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace penstock::gpu_bench {

// The extents of the cases' operands. training_extents() are those of a Transformer block of 8,192
// tokens and of a ResNet-50 stage; toy_extents() run in an instant on an emulated device.
struct Extents {
  int64_t batch, sequence, heads, head_size, hidden, vocabulary;
  int64_t images, image, channels;  // image: pixels a side

  [[nodiscard]] int64_t tokens() const { return batch * sequence; }
  [[nodiscard]] int64_t width() const { return heads * head_size; }
};
[[nodiscard]] Extents training_extents();
[[nodiscard]] Extents toy_extents();

struct KernelCase {
  std::string name;  // "linear forward, bias"
  // Makes the operands on a device, and returns what runs the op once; empty where that device does
  // not have the op. The device must outlive what is returned.
  std::function<std::function<void()>(Device&)> set_up;
  // The FLOPs and bytes of ops that the counting device lacks: copies to and from the host, fused
  // pairs of ops.
  double flops = 0, bytes = 0;
};

// All cases: copies, the block's products, attention, norms, passes, images, tokens, updates.
[[nodiscard]] std::vector<KernelCase> kernel_cases(const Extents& extents);

// The implementations of attention that the device takes: a line without dropout, a line with it.
[[nodiscard]] std::vector<std::string> attention_paths(Device& device, const Extents& extents);

}  // namespace penstock::gpu_bench
