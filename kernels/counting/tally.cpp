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

// Elements of a filter in the layouts that oneDNN likes on AVX-512: blocks of 16 channels, those
// that enter the forward in words.
int64_t packed_elements(const Shape& filter, DType dtype, Tally::Use use) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t entering = use == Tally::Use::Forward ? 4 / size : 16;
  return rounded(filter[0], 16) * rounded(filter[1], entering) * filter[2] * filter[3];
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
  const bool packs = model_.packs_filters && weight.shape().rank() == 4;
  if (!packs && dtype == DType::F32) return static_cast<double>(weight.value().size_bytes());
  const uint64_t key = packs && use == Use::InputGradient ? 2 : 1;
  Weight::Form& form = weight.form(key);
  if (!form.packed) {
    const int64_t elements =
        packs ? packed_elements(weight.shape(), dtype, use) : weight.shape().elements();
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
  if (!model_.packs_filters) return {};
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
  return {memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype};
}

Tensor Tally::bias_scratch(const Tensor& g) {
  constexpr int64_t kRows = 512;
  return scratch((g.shape().rows() + kRows - 1) / kRows * g.shape().back(), DType::F32);
}

}  // namespace penstock
