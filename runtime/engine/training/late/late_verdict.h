// runtime/engine/training/late/late_verdict.h -- LateVerdict: brings the gradient norm, the loss,
// the votes and the load of experts of a step to all ranks without blocking: start() posts them
// when this rank's gradients are complete, finish() collects them in the next step.
//
// It is for optimizer.barrier = false (step.h), where no rank may wait for the last stage at the
// end of a step. One non-blocking all-gather carries everything. With the barrier,
// GradientNorm::compute(), gather_loss() (metrics.h) and ExpertLoads::gather() do the same and
// wait.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/training/expert_loads.h"
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
  // ExpertLoads::here() of the ranks of replica 0, one after another; valid until the next
  // finish().
  std::span<const double> rows = {};
};

class LateVerdict {
 public:
  // Collective over all ranks. `norm` tells which parameters' squares each rank brings, `loads` how
  // many rows of experts. `network` must outlive this.
  LateVerdict(const GradientNorm& norm, ExpertLoads& loads, Network& network);

  // What a rank brings. Only replica 0 sends its squares and rows, so vote.refuse must say on every
  // rank whether one of its squares is not finite.
  struct Brought {
    std::span<const double> squares;  // GradientNorm::squares()
    const LossNumbers& loss;
    const StepVote& vote;
    std::span<const double> rows;  // ExpertLoads::here()
  };
  // Posts this rank's numbers and returns. Each start() is followed by one finish().
  void start(const Brought& brought);
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
  bool brings_more_;  // squares and rows
  size_t replicas_;
  std::vector<Part> parts_;          // by rank
  std::vector<size_t> sources_;      // for each square, in layer order: its index among all numbers
  std::vector<size_t> row_sources_;  // likewise for the rows, by rank
  // The numbers sent; the squares in layer order; the rows by rank; the losses by replica.
  std::vector<double> mine_, in_order_, rows_, losses_;
};

}  // namespace penstock
