// runtime/training/gradient_norm.h -- GradientNorm: the norm of the whole network's gradient, of
// which every rank of a pipeline holds a part.
//
// Each rank squares and adds up its own parameters' gradients, one number a parameter. Those go to
// the pipeline's first rank, which adds them in layer order, wherever each came from: the number of
// stages and the schedule change no bit. The one number that comes of it goes to all.
#pragma once

#include <vector>

#include "runtime/comm/network.h"
#include "runtime/pipeline/pipeline.h"

namespace penstock {

class GradientNorm {
 public:
  // Collective over `pipeline_ranks`, the ranks of this pipeline: agrees on who brings what, so
  // that compute() takes no memory. The pipeline's weights must be there. All arguments must
  // outlive this.
  GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks, Device& device);

  // Collective, likewise, once the gradients of a step are complete, replicas' sums and tied
  // parameters' included. The same bits on every rank. Frozen parameters count nothing, a tied one
  // once.
  [[nodiscard]] double compute();

 private:
  void agree(const std::vector<int64_t>& places);

  Collective& ranks_;
  Device& device_;
  Tensors gradients_;         // of what this rank owns and trains: references
  Tensor squares_;            // F64, one for each
  std::vector<double> here_;  // the same on the host
  // On the pipeline's first rank:
  std::vector<int> counts_;       // numbers that each rank brings
  std::vector<double> gathered_;  // the numbers, rank by rank
  std::vector<size_t> sources_;   // of each number in layer order, the place in gathered_
  std::vector<double> in_order_;  // the numbers in layer order
};

}  // namespace penstock
