// runtime/engine/training/gradient_norm.h -- GradientNorm: the norm of the whole network's
// gradient, of which every rank of a pipeline holds a part.
//
// Each rank squares and adds up its own parameters' gradients, one number a parameter; replicas
// that share the updates out square what each updates and tell one another, a number for every few
// thousand elements. The parameters' go to
// the pipeline's first rank, which adds them in layer order, wherever each came from: the number of
// stages and the schedule change no bit. The one number that comes of it goes to all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class GradientNorm {
 public:
  // Collective over `pipeline_ranks`, the ranks of this pipeline: agrees on who brings what, so
  // that compute() takes no memory. The pipeline's weights must be there. All arguments must
  // outlive this.
  // `replicas`: the ranks that hold the same stages, for those that share.
  GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks, Collective& replicas,
               Device& device);

  // Collective, likewise, once the gradients of a step are complete, replicas' sums and tied
  // parameters' included. The same bits on every rank. Frozen parameters count nothing, a tied one
  // once.
  [[nodiscard]] double compute();
  // The first half of that, collective over the replicas alone: sums of squares of the parameters
  // that this rank counts, valid until the next. compute() adds those of all ranks by place.
  [[nodiscard]] std::span<const double> squares();
  // Of those parameters, the places among the tensors of the whole network.
  [[nodiscard]] const std::vector<int64_t>& places() const { return places_; }

 private:
  void list_blocks(const std::vector<const StateEntry*>& entries);
  void agree();
  void add_blocks();

  Collective& ranks_;
  Collective& replicas_;
  Device& device_;
  bool is_shared_ = false;
  Tensors gradients_;           // of what this rank owns, trains and updates: references
  Tensor squares_;              // F64, their squares_by_block()
  std::vector<double> own_;     // the same on the host
  std::vector<double> of_all_;  // of all replicas, one after another; none where nothing is shared
  std::vector<size_t> block_at_;   // of the blocks of all parameters in order, the place in there
  std::vector<size_t> block_end_;  // by parameter, in block_at_
  std::vector<int64_t> places_;    // by parameter
  std::vector<double> here_;       // sums by parameter
  // On the pipeline's first rank:
  std::vector<int> counts_;       // numbers that each rank brings
  std::vector<double> gathered_;  // the numbers, rank by rank
  std::vector<size_t> sources_;   // of each number in layer order, the place in gathered_
  std::vector<double> in_order_;  // the numbers in layer order
};

}  // namespace penstock
