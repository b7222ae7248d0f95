#include "runtime/records/hub/adapters/merged_weights.h"

#include <algorithm>

#include "kernels/error.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/system/files/json.h"

namespace penstock {

namespace {

// The part of a mixture's adapter "gate_up" that a matrix of the experts has: "gate" the first half
// of its rows, "in" the second.
enum class Half : uint8_t { None, First, Second };
Half half_of(const std::string& layer) {
  if (layer.ends_with(".gate")) return Half::First;
  return layer.ends_with(".in") ? Half::Second : Half::None;
}

}  // namespace

std::string averaged_name(const CheckpointReader& reader, const std::string& name) {
  std::string average = name + ".average";
  return reader.contains(average) ? average : name;
}

std::vector<float> MergedWeights::read_adapter(const std::string& name, size_t elements) {
  std::vector<float> numbers(elements);
  reader_.read(averaged_name(reader_, name), std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

void MergedWeights::open(const TensorInfo& tensor) {
  if (opened_ == tensor.name) return;
  opened_ = tensor.name;
  a_.clear();
  b_.clear();
  const std::string layer = layer_of(tensor.name);
  if (lora_.rank == 0 || tensor.name != layer + ".weight") return;
  const bool of_experts = tensor.shape.size() == 3;
  const Half half = of_experts ? half_of(layer) : Half::None;
  const std::string adapter = half == Half::None ? layer : layer_of(layer).append(".gate_up");
  const std::string a = adapter + std::string(kAdapterA);
  if (!reader_.contains(a)) return;
  if (tensor.shape.size() != 2 && !of_experts) {
    fail_data(quoted(a) + " lies beside what is no matrix");
  }
  const size_t experts = of_experts ? static_cast<size_t>(tensor.shape[0]) : 1;
  const auto rank = static_cast<size_t>(lora_.rank);
  rows_ = static_cast<size_t>(tensor.shape[tensor.shape.size() - 2]);
  columns_ = static_cast<size_t>(tensor.shape.back());
  adapter_rows_ = half == Half::None ? rows_ : 2 * rows_;
  first_row_ = half == Half::Second ? rows_ : 0;
  a_ = read_adapter(a, experts * rank * columns_);
  b_ = read_adapter(adapter + std::string(kAdapterB), experts * adapter_rows_ * rank);
}

void MergedWeights::add(size_t first, std::span<float> to) const {
  const auto rank = static_cast<size_t>(lora_.rank);
  const double scale = lora_.alpha / static_cast<double>(lora_.rank);
  std::vector<double> sums(columns_);
  for (size_t at = 0; at < to.size();) {
    const size_t expert = (first + at) / (rows_ * columns_);
    const size_t row = (first + at) / columns_ % rows_;
    const size_t column = (first + at) % columns_;
    const size_t count = std::min(columns_ - column, to.size() - at);
    std::fill_n(sums.begin(), count, 0.0);
    for (size_t r = 0; r < rank; ++r) {
      const size_t b_row = expert * adapter_rows_ + first_row_ + row;
      const auto factor = static_cast<double>(b_[b_row * rank + r]);
      const float* a = a_.data() + (expert * rank + r) * columns_ + column;
      for (size_t i = 0; i < count; ++i) sums[i] += factor * static_cast<double>(a[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      to[at + i] = static_cast<float>(static_cast<double>(to[at + i]) + scale * sums[i]);
    }
    at += count;
  }
}

void MergedWeights::read(const TensorInfo& tensor, size_t first, std::span<float> to) {
  open(tensor);
  reader_.read_numbers(averaged_name(reader_, tensor.name), first, to);
  if (!a_.empty()) add(first, to);
}

}  // namespace penstock
