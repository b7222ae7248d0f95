#include "bench/gpu/kernel_cases.h"

#include <cmath>

#include "bench/gpu/kernel_operands.h"

namespace penstock::gpu_bench {

// Makes the numbers bit by bit from dropout's random choices, on the device.
Tensor noise(Device& device, const Shape& shape, DType dtype) {
  PointwiseOps& ops = device.pointwise();
  Tensor sum = device.empty(shape, dtype, Purpose::Workspace);
  Tensor bit = device.empty(shape, dtype, Purpose::Workspace);
  ops.fill(sum, -1.0F);
  for (uint64_t digit = 1; digit <= 6; ++digit) {
    ops.fill(bit, std::ldexp(1.0F, -static_cast<int>(digit)));
    ops.dropout(bit, bit, 0.5F, random_stream(1, hash_name("kernel_bench"), digit));  // doubles
    ops.accumulate(sum, bit);
  }
  return sum;
}
Tensor integers(Device& device, int64_t count, int64_t below) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int32_t>((i * size_t{7919}) % static_cast<size_t>(below));
  }
  Tensor tensor = device.empty({count}, DType::I32, Purpose::Workspace);
  device.copy_from_host(tensor, numbers.data(), numbers.size() * sizeof(int32_t));
  return tensor;
}

Extents training_extents() {
  return {.batch = 4,
          .sequence = 2048,
          .heads = 32,
          .head_size = 128,
          .hidden = 16384,
          .vocabulary = 32000,
          .images = 64,
          .image = 56,
          .channels = 128};
}

Extents toy_extents() {
  return {.batch = 2,
          .sequence = 32,
          .heads = 2,
          .head_size = 16,
          .hidden = 64,
          .vocabulary = 40,
          .images = 2,
          .image = 8,
          .channels = 16};
}

std::vector<std::string> attention_paths(Device& device, const Extents& extents) {
  const Tensor q =
      device.empty({extents.batch, extents.sequence, extents.width()}, kBf16, Purpose::Workspace);
  std::vector<std::string> lines;
  for (const float dropout : {0.0F, 0.1F}) {
    AttentionOptions options;
    options.heads = static_cast<int>(extents.heads);
    options.causal = true;
    options.dropout = dropout;
    lines.push_back(std::string("attention, causal") + (dropout > 0.0F ? ", dropout: " : ": ") +
                    text_of(device.attention().path(q, q, {}, options)));
  }
  return lines;
}

std::vector<KernelCase> kernel_cases(const Extents& extents) {
  Cases cases;
  add_copies(cases, extents);
  add_products(cases, extents);
  add_attention(cases, extents);
  add_norms(cases, extents);
  add_passes(cases, extents);
  add_images(cases, extents);
  add_tokens(cases, extents);
  add_experts(cases, extents);
  add_updates(cases, extents);
  return cases;
}

}  // namespace penstock::gpu_bench
