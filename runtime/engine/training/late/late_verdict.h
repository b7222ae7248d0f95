// runtime/engine/training/late/late_verdict.h -- LateVerdict: brings the gradient norm, the loss
// and the votes of a step to all ranks without blocking: start() posts them when this rank's
// gradients are complete, finish() collects them in the next step.
//
// It is for optimizer.barrier = false (step.h), where no rank may wait for the last stage at the
// end of a step. One non-blocking all-gather carries everything. With the barrier,
// GradientNorm::compute() and gather_loss() (metrics.h) do the same and wait.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/training/gradient_norm.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// What all ranks know of a step in the end.
struct Verdict {
  double grad_norm = 0.0;  // of the whole network's gradient
  LossSums loss;           // summed over all replicas
  StepVote vote;           // what any rank has voted for
};

class LateVerdict {
 public:
  // Collective over all ranks. `norm` tells which parameters' squares each rank brings. `network`
  // must outlive this.
  LateVerdict(const GradientNorm& norm, Network& network);

  // Posts this rank's numbers and returns. `squares` are GradientNorm::squares(). Only replica 0
  // sends its squares, so vote.refuse must say on every rank whether one of its squares is not
  // finite. Each start() is followed by one finish().
  void start(std::span<const double> squares, const LossNumbers& loss, const StepVote& vote);
  // Waits for the numbers of all ranks. Returns the same on every rank, with the bits that
  // GradientNorm::compute() and gather_loss() would give.
  [[nodiscard]] Verdict finish();

 private:
  // The place of a rank's numbers.
  struct Part {
    size_t first = 0;  // index of its first number among those of all ranks
    int replica = 0;
  };
  std::unique_ptr<LateGather> gather_;
  bool brings_squares_;
  size_t replicas_;
  std::vector<Part> parts_;      // by rank
  std::vector<size_t> sources_;  // for each square, in layer order: its index among all numbers
  // The numbers sent; the squares in layer order; the losses by replica.
  std::vector<double> mine_, in_order_, losses_;
};

}  // namespace penstock
