#include "runtime/engine/training/metrics.h"

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>

#include "runtime/system/comm/pairwise.h"

namespace penstock {

namespace {

// These are the three numbers that TokenOps::cross_entropy_forward() gives: loss, correct targets,
// targets.
using LossTensor = std::array<double, 3>;

LossTensor read_loss(const Tensor& loss, Device& device) {
  LossTensor numbers{};
  device.copy_to_host(numbers.data(), loss, sizeof(numbers));
  return numbers;
}

constexpr size_t kNumbers = std::tuple_size_v<LossNumbers>;

// Returns the numbers of one micro-batch. A number that this rank does not compute is 0.
LossNumbers read_losses(const Pipeline& pipeline, int micro_batch, Device& device) {
  LossNumbers numbers{};
  if (const Stage* last = pipeline.loss_stage(); last != nullptr) {
    const LossTensor one = read_loss(last->losses(micro_batch).loss, device);
    std::copy(one.begin(), one.end(), numbers.begin());
  }
  for (const auto& stage : pipeline.stages()) {
    for (const Tensor& loss : stage->losses(micro_batch).auxiliary) {
      const LossTensor one = read_loss(loss, device);
      numbers[3] += one[0];
      numbers[4] += one[2];
    }
  }
  return numbers;
}

}  // namespace

LossNumbers loss_here(const Pipeline& pipeline, int micro_batches, Device& device) {
  std::array<PairwiseSumOf<double>, kNumbers> here;
  for (int m = 0; m < micro_batches; ++m) {
    const LossNumbers numbers = read_losses(pipeline, m, device);
    for (size_t i = 0; i < kNumbers; ++i) here[i].add(numbers[i]);
  }
  LossNumbers totals{};
  for (size_t i = 0; i < kNumbers; ++i) totals[i] = here[i].total();
  return totals;
}

LossSums loss_of_replicas(std::span<const double> numbers) {
  std::array<PairwiseSumOf<double>, kNumbers> sums;
  for (size_t i = 0; i < numbers.size(); ++i) sums[i % kNumbers].add(numbers[i]);
  return {sums[0].total(), sums[1].total(), sums[2].total(), sums[3].total(), sums[4].total()};
}

LossSums gather_loss(const Pipeline& pipeline, int micro_batches, Device& device, Network& network,
                     StepVote* vote) {
  const LossNumbers here = loss_here(pipeline, micro_batches, device);
  // The list that is summed has the numbers of each replica, then the votes. Only one rank of a
  // replica has the network's loss; the other ranks add zeros.
  const auto replicas = static_cast<size_t>(network.replicas().size());
  const auto replica = static_cast<size_t>(network.replicas().rank());
  const size_t losses = replicas * kNumbers;
  VoteNumbers votes = numbers_of(vote != nullptr ? *vote : StepVote{});
  boost::container::small_vector<double, 16 * kNumbers> all(losses + votes.size());
  for (size_t i = 0; i < kNumbers; ++i) all[replica * kNumbers + i] = here[i];
  std::copy(votes.begin(), votes.end(), all.begin() + static_cast<std::ptrdiff_t>(losses));
  network.world().sum({all.data(), all.size()});
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(losses), votes.size(), votes.begin());
  if (vote != nullptr) *vote = vote_of(votes);
  return loss_of_replicas({all.data(), losses});
}

double count_targets(const Pipeline& pipeline, std::span<const Batch> batches,
                     Collective& replicas) {
  const std::string& field = pipeline.reads().targets;
  if (field.empty()) return 0.0;
  double count = 0.0;
  for (const Batch& batch : batches) {
    const Tensor& targets = batch.field(field);
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
