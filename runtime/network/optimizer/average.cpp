#include "runtime/network/optimizer/average.h"

#include <algorithm>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"

namespace penstock {
namespace {

constexpr int64_t kSwapElements = int64_t{1} << 20;  // elements swapped at a time, through 4 MiB

}  // namespace

double average_decay(double decay, int64_t step) {
  const auto n = static_cast<double>(step);
  return std::min(decay, (1.0 + n) / (10.0 + n));
}

void WeightAverage::allocate(StateRange range, Device& device) {
  if (device_ != nullptr) fail_internal("the weight averages were allocated twice");
  device_ = &device;
  int64_t largest = 0;
  for (StateEntry* entry : range) {
    if (!entry->trained) continue;
    if (!entry->value) fail_internal("the weight average got " + entry->name + " before its value");
    const Tensor value = entry->own_part(entry->value);
    entry->average = device.empty(value.shape(), DType::F32, Purpose::Optimizer);
    device.pointwise().copy(entry->average, value);
    if (value.elements() == 0) continue;
    entries_.push_back(entry);
    largest = std::max(largest, value.elements());
  }
  spare_ = device.empty({std::min(largest, kSwapElements)}, DType::F32, Purpose::Optimizer);
}

void WeightAverage::update(int64_t step) {
  if (swapped_) fail_internal("the weight average was updated while it stands in for the weights");
  const auto decay = static_cast<float>(average_decay(decay_, step));
  for (const StateEntry* entry : entries_) {
    list_.push_back({entry->average, entry->own_part(entry->value)});
  }
  device_->update().moving_average(list_, decay);
  list_.clear();
}

void WeightAverage::swap_in() {
  if (swapped_) fail_internal("the weight average already stands in for the weights");
  exchange();
}

void WeightAverage::swap_out() {
  if (!swapped_) fail_internal("the weight average does not stand in for the weights");
  exchange();
}

void WeightAverage::exchange() {
  PointwiseOps& ops = device_->pointwise();
  for (StateEntry* entry : entries_) {
    const Tensor value = entry->own_part(entry->value);
    for (int64_t first = 0; first < value.elements(); first += spare_.elements()) {
      const Shape piece{std::min(spare_.elements(), value.elements() - first)};
      Tensor ours = value.view(first, piece);
      Tensor theirs = entry->average.view(first, piece);
      Tensor spare = spare_.view(0, piece);
      ops.copy(spare, ours);
      ops.copy(ours, theirs);
      ops.copy(theirs, spare);
    }
    entry->changed();
  }
  swapped_ = !swapped_;
}

}  // namespace penstock
