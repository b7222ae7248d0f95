// runtime/engine/training/metrics.h -- the loss of a pass, brought from the stage that computes it
// to every rank.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct LossSums {
  double loss = 0.0;                                     // sum over targets
  double correct = 0.0;                                  // targets whose largest logit is the label
  double targets = 0.0;                                  // how many there are, ignored ones not
  double auxiliary_loss = 0.0, auxiliary_targets = 0.0;  // of loss heads inside the network
  [[nodiscard]] double mean() const { return targets > 0.0 ? loss / targets : 0.0; }
  [[nodiscard]] std::optional<double> auxiliary_mean() const {
    if (auxiliary_targets == 0.0) return std::nullopt;
    return auxiliary_loss / auxiliary_targets;
  }
  [[nodiscard]] double accuracy() const { return targets > 0.0 ? correct / targets : 0.0; }
};

// The members of LossSums as numbers: loss, correct, targets, auxiliary_loss, auxiliary_targets.
using LossNumbers = std::array<double, 5>;
// This rank's share of the loss of the last pass, over its micro-batches. Zeros where this rank
// holds no loss.
[[nodiscard]] LossNumbers loss_here(const Pipeline& pipeline, int micro_batches, Device& device);
// The sums over all replicas. `numbers`: the LossNumbers of one replica after another, each summed
// over its ranks.
[[nodiscard]] LossSums loss_of_replicas(std::span<const double> numbers);

// The loss of the last pass, summed over its micro-batches and then over the replicas, both in
// pairs (runtime/system/comm/pairwise.h); the same on every rank. `vote` is this rank's vote, and
// becomes that of all: what any rank votes for. Null on all ranks: there is none. Collective over
// the world.
[[nodiscard]] LossSums gather_loss(const Pipeline& pipeline, int micro_batches, Device& device,
                                   Network& network, StepVote* vote = nullptr);

// The number of targets in the micro-batches of a mini-batch, over all replicas
// (Layer::targets()): what the loss is divided by. 0 on ranks that hold neither the loss nor an
// auxiliary one. Collective over the `replicas` of each rank that holds one.
[[nodiscard]] double count_targets(const Pipeline& pipeline, std::span<const Batch> batches,
                                   Collective& replicas);

}  // namespace penstock
