#include "kernels/counting/tally.h"

#include <algorithm>

namespace penstock {
namespace {

double bytes_of(Tally::Operands operands) {
  double bytes = 0;
  for (const Tensor* operand : operands) {
    if (operand != nullptr) bytes += static_cast<double>(operand->size_bytes());
  }
  return bytes;
}

int64_t rounded(int64_t extent, int64_t multiple) {
  return (extent + multiple - 1) / multiple * multiple;
}

// Elements of a weight in the layouts that oneDNN likes on AVX-512: [k, n] in tiles of 64 columns
// and of 64 bytes down; filters in blocks of 16 channels, those that enter the forward in words.
int64_t packed_elements(const Shape& weight, DType dtype, Tally::Use use) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const bool forward = use == Tally::Use::Forward;
  if (weight.rank() == 2) {
    const int64_t k = forward ? weight[1] : weight[0];
    const int64_t n = forward ? weight[0] : weight[1];
    return rounded(k, 64 / size) * rounded(n, 64);
  }
  return rounded(weight[0], 16) * rounded(weight[1], forward ? 4 / size : 16) * weight[2] *
         weight[3];
}

}  // namespace

void Tally::add(double flops, double rate, double bytes) {
  ++count_.ops;
  count_.flops += flops;
  count_.bytes += bytes;
  count_.seconds += std::max(flops / rate, bytes / model_.memory_rate()) + model_.op_overhead_s;
}

void Tally::product(double flops, DType dtype, Operands operands, double weight_bytes) {
  add(flops, model_.matmul_rate(dtype), bytes_of(operands) + weight_bytes);
}

void Tally::pass(double flops, Operands operands) {
  add(flops, model_.matmul_rate(DType::F32), bytes_of(operands));
}

double Tally::read(Weight& weight, DType dtype, Use use) {
  if (!model_.packs_weights && dtype == DType::F32) {
    return static_cast<double>(weight.value().size_bytes());
  }
  const uint64_t key = model_.packs_weights && use == Use::InputGradient ? 2 : 1;
  Weight::Form& form = weight.form(key);
  if (!form.packed) {
    const int64_t elements = model_.packs_weights ? packed_elements(weight.shape(), dtype, use)
                                                  : weight.shape().elements();
    const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
    form.packed = {memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype};
  }
  if (form.version != weight.version()) {
    pass(0, {&weight.value(), &form.packed});
    form.version = weight.version();
  }
  return static_cast<double>(form.packed.size_bytes());
}

Tensor Tally::scratch(int64_t elements, DType dtype) {
  if (!model_.packs_weights) return {};
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
  return {memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype};
}

Tensor Tally::bias_scratch(const Tensor& g) {
  constexpr int64_t kRows = 512;
  return scratch((g.shape().rows() + kRows - 1) / kRows * g.shape().back(), DType::F32);
}

}  // namespace penstock
