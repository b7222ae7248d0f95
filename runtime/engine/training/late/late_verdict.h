// runtime/engine/training/late/late_verdict.h -- LateVerdict: gathers a step's gradient norm, loss
// and votes from all ranks in two calls, so that no rank waits for the last stage in between.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/training/gradient_norm.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct Verdict {
  double grad_norm = 0.0;
  LossSums loss;
  StepVote vote;
};

class LateVerdict {
 public:
  // Collective over the world; `norm` tells which rank brings which parameters' squares.
  LateVerdict(const GradientNorm& norm, Network& network);

  // Posts this rank's numbers, once its gradients are complete, and returns. `squares` are
  // GradientNorm::squares(); vote.refuse must say whether one is not finite, since only those of
  // replica 0 make the norm.
  void start(std::span<const double> squares, const LossNumbers& loss, const StepVote& vote);
  // Waits for all ranks. The verdict is the same on every rank, with the bits that
  // GradientNorm::compute() and gather_loss() would give.
  [[nodiscard]] Verdict finish();

 private:
  struct Part {
    size_t first = 0;  // among the numbers of all ranks
    int replica = 0;
  };
  std::unique_ptr<LateGather> gather_;
  bool brings_squares_;
  size_t replicas_;
  std::vector<Part> parts_;      // by rank
  std::vector<size_t> sources_;  // by square, in layer order: its place among all numbers
  std::vector<double> mine_, in_order_, losses_;
};

}  // namespace penstock
