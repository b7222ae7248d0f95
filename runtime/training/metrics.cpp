#include "runtime/training/metrics.h"

#include <algorithm>
#include <array>

#include "runtime/optimizer/clip.h"

namespace penstock {

namespace {

// TokenOps::cross_entropy_forward's three.
using LossTensor = std::array<double, 3>;

LossTensor read_loss(const Tensor& loss, Device& device) {
  LossTensor numbers{};
  device.copy_to_host(numbers.data(), loss, sizeof(numbers));
  return numbers;
}

}  // namespace

LossSums gather_loss(const Pipeline& pipeline, int micro_batches, Device& device,
                     Collective& world) {
  std::array<double, 5> sums{};
  for (int m = 0; m < micro_batches; ++m) {
    if (pipeline.has_loss()) {
      const LossTensor one = read_loss(pipeline.loss_stage().loss(m), device);
      for (size_t i = 0; i < one.size(); ++i) sums[i] += one[i];
    }
    for (const auto& stage : pipeline.stages()) {
      for (const Tensor& loss : stage->auxiliary_losses(m)) {
        const LossTensor one = read_loss(loss, device);
        sums[3] += one[0];
        sums[4] += one[2];
      }
    }
  }
  world.sum(sums);
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

double count_targets(const Pipeline& pipeline, std::span<const Batch> batches,
                     Collective& replicas) {
  if (!pipeline.reads_labels()) return 0.0;
  double count = 0.0;
  for (const Batch& batch : batches) {
    for (int32_t label : batch.field("labels").span<const int32_t>()) count += label >= 0 ? 1 : 0;
  }
  if (replicas.size() > 1) replicas.sum({&count, 1});
  return count;
}

GradientNorm::GradientNorm(const Pipeline& pipeline, Device& device)
    : pipeline_(pipeline), device_(device), all_(pipeline.total_places()) {
  for (size_t i = 0; i < pipeline.owned().size(); ++i) {
    if (!pipeline.owned()[i]->frozen) places_.push_back(pipeline.parameter_places()[i]);
  }
  here_.resize(places_.size());
  squares_ = device.empty({static_cast<int64_t>(here_.size())}, DType::F64, Purpose::Workspace);
}

double GradientNorm::compute(Collective& pipeline_ranks) {
  for (const Parameter* parameter : pipeline_.owned()) {
    if (!parameter->frozen) gradients_.push_back(parameter->gradient);
  }
  device_.update().sum_of_squares(squares_, {gradients_.data(), gradients_.size()});
  gradients_.clear();
  device_.copy_to_host(here_.data(), squares_, here_.size() * sizeof(double));
  std::fill(all_.begin(), all_.end(), 0.0);
  for (size_t i = 0; i < here_.size(); ++i) all_[places_[i]] = here_[i];
  // Every entry is non-zero on one rank only, so this sum is exact.
  if (pipeline_ranks.size() > 1) pipeline_ranks.sum(all_);
  return gradient_norm(all_);
}

}  // namespace penstock
