#include "runtime/training/metrics.h"

#include <algorithm>
#include <array>

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

LossSums gather_loss(const Pipeline& pipeline, int micro_batches, Device& device, Collective& world,
                     std::span<double> more) {
  constexpr size_t kOfTheLoss = 5;
  std::array<double, 16> sums{};
  if (kOfTheLoss + more.size() > sums.size())
    fail_internal("the sums of the loss have no room for so many others");
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
  const auto others = sums.begin() + kOfTheLoss;
  std::copy(more.begin(), more.end(), others);
  world.sum(std::span(sums).first(kOfTheLoss + more.size()));
  std::copy_n(others, more.size(), more.begin());
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

double count_targets(const Pipeline& pipeline, std::span<const Batch> batches,
                     Collective& replicas) {
  if (pipeline.targets().empty()) return 0.0;
  double count = 0.0;
  for (const Batch& batch : batches) {
    const Tensor& targets = batch.field(pipeline.targets());
    if (targets.dtype() != DType::I32) {
      count += static_cast<double>(batch.samples);
      continue;
    }
    for (int32_t label : targets.span<const int32_t>()) count += label >= 0 ? 1 : 0;
  }
  if (replicas.size() > 1) replicas.sum({&count, 1});
  return count;
}

}  // namespace penstock
