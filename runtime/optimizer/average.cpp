#include "runtime/optimizer/average.h"

#include <algorithm>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"

namespace penstock {
namespace {

constexpr int64_t kSwapElements = int64_t{1} << 20;  // 4 MiB: the cost in memory of swapping

}  // namespace

double average_decay(double decay, int64_t step) {
  const auto n = static_cast<double>(step);
  return std::min(decay, (1.0 + n) / (10.0 + n));
}

void WeightAverage::allocate(std::span<Parameter* const> parameters,
                             std::span<const MovingStatistic> statistics, Device& device) {
  if (device_ != nullptr) fail_internal("the weight averages were allocated twice");
  device_ = &device;
  for (Parameter* parameter : parameters) {
    add(parameter->name, parameter, parameter->weight.value());
  }
  for (const MovingStatistic& statistic : statistics) {
    add(statistic.name, nullptr, statistic.value);
  }
  int64_t largest = 0;
  for (const Entry& entry : entries_) largest = std::max(largest, entry.value.elements());
  spare_ = device.empty({std::min(largest, kSwapElements)}, DType::F32, Purpose::Optimizer);
}

void WeightAverage::add(const std::string& name, Parameter* parameter, const Tensor& value) {
  if (!value) fail_internal("the weight average got " + name + " before its value");
  Tensor average = device_->empty(value.shape(), DType::F32, Purpose::Optimizer);
  device_->pointwise().copy(average, value);
  entries_.push_back({name, parameter, value, std::move(average)});
}

void WeightAverage::update(int64_t step) {
  if (swapped_) fail_internal("the weight average was updated while it stands in for the weights");
  const auto decay = static_cast<float>(average_decay(decay_, step));
  for (const Entry& entry : entries_) list_.push_back({entry.average, entry.value});
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
  for (const Entry& entry : entries_) {
    for (int64_t first = 0; first < entry.value.elements(); first += spare_.elements()) {
      const Shape piece{std::min(spare_.elements(), entry.value.elements() - first)};
      Tensor ours = entry.value.view(first, piece);
      Tensor theirs = entry.average.view(first, piece);
      Tensor spare = spare_.view(0, piece);
      ops.copy(spare, ours);
      ops.copy(ours, theirs);
      ops.copy(theirs, spare);
    }
    if (entry.parameter != nullptr) entry.parameter->weight.changed();
  }
  swapped_ = !swapped_;
}

std::vector<StateTensor> WeightAverage::state() const {
  if (swapped_) fail_internal("the weight averages were asked for while they are the weights");
  std::vector<StateTensor> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back({entry.name, "average", entry.average});
  return all;
}

}  // namespace penstock
