#include "runtime/network/stage/stage_gradients.h"

#include <utility>

namespace penstock {

StageGradients::StageGradients(const TrainedByLayer& trained, Declared& declared, Device& device)
    : trained_(&trained), device_(&device), declared_(&declared) {
  std::vector<int64_t> first_of_layer;
  for (const std::vector<Parameter*>& layer : trained) {
    first_of_layer.push_back(first_sum_);
    for (const Parameter* parameter : layer) first_sum_ += with_padding(parameter->elements());
  }
  int64_t total = first_sum_;
  for (const StepSums& sums : declared.step_sums) total += with_padding(sums.shape.elements());
  all_ = device.zeros({total}, DType::F32, Purpose::Gradients);
  int64_t at = 0;
  for (const std::vector<Parameter*>& layer : trained) {
    for (Parameter* parameter : layer) {
      parameter->gradient = all_.view(at, parameter->shape);
      at += with_padding(parameter->elements());
    }
  }
  for (StepSums& sums : declared.step_sums) {
    sums.value = all_.view(at, sums.shape);
    at += with_padding(sums.shape.elements());
  }
  buckets_ = GradientBuckets(all_, first_of_layer);
}

Tensor StageGradients::step_sums() const {
  return all_.view(first_sum_, {all_.elements() - first_sum_});
}

void StageGradients::add_in_pairs(int micro_batches) {
  gradient_sum_ = PairwiseSum(all_.view(0, {first_sum_}), micro_batches, *device_);
  forward_sum_ = PairwiseSum(step_sums(), micro_batches, *device_);
  in_pairs_ = true;
}

bool StageGradients::mark_stale() {
  const bool stale = device_->overwrites_gradients() && !in_pairs_;
  for (const std::vector<Parameter*>& layer : *trained_) {
    for (Parameter* parameter : layer) parameter->stale = stale;
  }
  return stale;
}

void StageGradients::begin_step(bool gradients_stay) {
  const bool sums_only = gradients_stay || mark_stale();
  Tensor zero = sums_only ? step_sums() : all_;
  device_->pointwise().fill(zero, 0.0F);
  gradient_sum_.begin();
  forward_sum_.begin();
}

void StageGradients::begin_gradients() {
  if (mark_stale()) return;
  Tensor zero = all_.view(0, {first_sum_});
  device_->pointwise().fill(zero, 0.0F);
}

void StageGradients::complete(size_t layer) {
  for (Parameter* parameter : (*trained_)[layer]) {
    if (!parameter->stale) continue;
    device_->pointwise().fill(parameter->gradient, 0.0F);
    parameter->stale = false;
  }
}

// Copies the gradients. Between micro-batches either all gradients of a stage are stale or none is,
// so the copy has one flag for all of them.
void StageGradients::keep_copy() {
  if (first_sum_ == 0) return;
  const Tensor gradients = all_.view(0, {first_sum_});
  if (!copy_.values)
    copy_.values = device_->empty(gradients.shape(), DType::F32, Purpose::Gradients);
  device_->pointwise().copy(copy_.values, gradients);
  for (const std::vector<Parameter*>& layer : *trained_) {
    if (!layer.empty()) copy_.stale = layer.front()->stale;
  }
}

void StageGradients::swap_copy() {
  if (!copy_.values) return;
  bool was_stale = false;
  int64_t at = 0;
  for (const std::vector<Parameter*>& layer : *trained_) {
    for (Parameter* parameter : layer) {
      const bool is_own = parameter->gradient.data<float>() == all_.data<float>() + at;
      parameter->gradient = (is_own ? copy_.values : all_).view(at, parameter->shape);
      was_stale = std::exchange(parameter->stale, copy_.stale);
      at += with_padding(parameter->elements());
    }
  }
  copy_.stale = was_stale;
}

void StageGradients::keep_sums() {
  const Tensor sums = step_sums();
  if (sums.elements() == 0) return;
  if (!copy_.step_sums)
    copy_.step_sums = device_->empty(sums.shape(), DType::F32, Purpose::Gradients);
  device_->pointwise().copy(copy_.step_sums, sums);
}

void StageGradients::swap_sums() {
  if (!copy_.step_sums) return;
  int64_t at = 0;
  for (StepSums& sums : declared_->step_sums) {
    const bool is_own = sums.value.data<float>() == all_.data<float>() + first_sum_ + at;
    sums.value =
        is_own ? copy_.step_sums.view(at, sums.shape) : all_.view(first_sum_ + at, sums.shape);
    at += with_padding(sums.shape.elements());
  }
}

void StageGradients::begin_reduction(GradientBuckets::Start start) {
  buckets_.begin([this, start = std::move(start)](const Tensor& bucket) {
    gradient_sum_.finish(bucket);
    start(bucket);
  });
}

}  // namespace penstock
