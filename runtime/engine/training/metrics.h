// runtime/engine/training/metrics.h -- brings the loss of a pass, which only the rank with the last
// stage has computed, to every rank, summed over micro-batches and replicas.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The sums from which loss and accuracy are taken. A target is a label that counts: one for a
// sample of images, one for each position of a text.
struct LossSums {
  double loss = 0.0;     // sum over targets
  double correct = 0.0;  // targets whose label has the largest logit
  double targets = 0.0;  // how many targets there are, without ignored ones
  // The same for auxiliary losses inside the network.
  double auxiliary_loss = 0.0, auxiliary_targets = 0.0;
  // The mean loss of a target; 0 without targets.
  [[nodiscard]] double mean() const { return targets > 0.0 ? loss / targets : 0.0; }
  // The mean auxiliary loss; nothing where the network has none.
  [[nodiscard]] std::optional<double> auxiliary_mean() const {
    if (auxiliary_targets == 0.0) return std::nullopt;
    return auxiliary_loss / auxiliary_targets;
  }
  [[nodiscard]] double accuracy() const { return targets > 0.0 ? correct / targets : 0.0; }
};

// The five members of LossSums as numbers, in their order.
using LossNumbers = std::array<double, 5>;
// This rank's share of the loss of the last pass, summed over its micro-batches in pairs
// (runtime/system/comm/pairwise.h). Zeros where no stage of this rank has a loss. Waits for the
// device.
[[nodiscard]] LossNumbers loss_here(const Pipeline& pipeline, int micro_batches, Device& device);
// The sums over all replicas, in pairs. `numbers`: LossNumbers of replica 0, then of replica 1,
// ..., each summed over the ranks of the replica.
[[nodiscard]] LossSums loss_of_replicas(std::span<const double> numbers);

// The loss of the last pass, loss_here() of all ranks summed over the replicas; the same on every
// rank. Collective over all ranks. `vote` is this rank's vote, and becomes the vote of all: true
// where any rank's is. It must be null on all ranks or on none.
[[nodiscard]] LossSums gather_loss(const Pipeline& pipeline, int micro_batches, Device& device,
                                   Network& network, StepVote* vote = nullptr);

// How many targets a mini-batch has over all replicas, by which the loss is divided. `batches`: the
// micro-batches of this replica. 0 on ranks that hold neither the network's loss nor an auxiliary
// one. Collective over `replicas`, the ranks that hold the same stages.
[[nodiscard]] double count_targets(const Pipeline& pipeline, std::span<const Batch> batches,
                                   Collective& replicas);

}  // namespace penstock
