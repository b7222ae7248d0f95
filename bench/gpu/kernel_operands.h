// bench/gpu/kernel_operands.h -- makes the operands and cases of kernel_cases.cpp,
// kernel_cases_block.cpp and kernel_cases_rest.cpp. Private to them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu/kernel_cases.h"
#include "kernels/ops.h"

namespace penstock::gpu_bench {

using Run = std::function<void()>;
using Cases = std::vector<KernelCase>;
inline constexpr auto kBf16 = DType::BF16;
inline constexpr auto kF32 = DType::F32;

// Numbers spread over (-1, 1): products of zeros or of equal numbers draw less power than real
// ones, and run faster.
[[nodiscard]] Tensor noise(Device& device, const Shape& shape, DType dtype);
// I32 numbers, `count` of them, spread over [0, below).
[[nodiscard]] Tensor integers(Device& device, int64_t count, int64_t below);

template <class Operands>
using Op = std::function<void(Operands&)>;

// A case that runs `op` on the operands that `make` returns.
template <class Operands>
KernelCase one(std::string name, std::function<std::shared_ptr<Operands>(Device&)> make,
               Op<Operands> op) {
  return {std::move(name), [make = std::move(make), op = std::move(op)](Device& device) -> Run {
            auto operands = make(device);
            return [operands, op] { op(*operands); };
          }};
}

// Each adds its cases to the end.
void add_copies(Cases& cases, const Extents& e);
void add_products(Cases& cases, const Extents& e);
void add_attention(Cases& cases, const Extents& e);
void add_norms(Cases& cases, const Extents& e);
void add_passes(Cases& cases, const Extents& e);
void add_images(Cases& cases, const Extents& e);
void add_tokens(Cases& cases, const Extents& e);
void add_experts(Cases& cases, const Extents& e);
void add_updates(Cases& cases, const Extents& e);

}  // namespace penstock::gpu_bench
