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

void WeightAverage::allocate(std::span<Parameter* const> parameters, Device& device) {
  if (device_ != nullptr) fail_internal("the weight averages were allocated twice");
  device_ = &device;
  parameters_.assign(parameters.begin(), parameters.end());
  int64_t largest = 0;
  for (const Parameter* parameter : parameters_) {
    if (!parameter->weight.value()) {
      fail_internal("the weight average got " + parameter->name + " before its weight");
    }
    Tensor average = device.empty(parameter->shape, DType::F32, Purpose::Optimizer);
    device.pointwise().copy(average, parameter->weight.value());
    averages_.push_back(std::move(average));
    largest = std::max(largest, parameter->elements());
  }
  spare_ = device.empty({std::min(largest, kSwapElements)}, DType::F32, Purpose::Optimizer);
}

void WeightAverage::update(int64_t step) {
  if (swapped_) fail_internal("the weight average was updated while it stands in for the weights");
  const auto decay = static_cast<float>(average_decay(decay_, step));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    list_.push_back({averages_[i], parameters_[i]->weight.value()});
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
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& weight = parameters_[i]->weight.value();
    for (int64_t first = 0; first < weight.elements(); first += spare_.elements()) {
      const Shape piece{std::min(spare_.elements(), weight.elements() - first)};
      Tensor ours = weight.view(first, piece);
      Tensor theirs = averages_[i].view(first, piece);
      Tensor spare = spare_.view(0, piece);
      ops.copy(spare, ours);
      ops.copy(ours, theirs);
      ops.copy(theirs, spare);
    }
    parameters_[i]->weight.changed();
  }
  swapped_ = !swapped_;
}

std::vector<StateTensor> WeightAverage::state() const {
  if (swapped_) fail_internal("the weight averages were asked for while they are the weights");
  std::vector<StateTensor> all;
  all.reserve(averages_.size());
  for (size_t i = 0; i < averages_.size(); ++i) {
    all.push_back({parameters_[i]->name, "average", averages_[i]});
  }
  return all;
}

}  // namespace penstock
