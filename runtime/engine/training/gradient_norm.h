// runtime/engine/training/gradient_norm.h -- GradientNorm: the norm of the whole network's
// gradient, of which every rank of a pipeline holds a part.
//
// Each rank squares and adds up its own parameters' gradients, one number a parameter. Replicas
// that share the updates out square the elements that each updates, and tell one another a number
// for every few thousand of them. The parameters' numbers go to the pipeline's first rank, which
// adds them in layer order, so the number of stages and the schedule change no bit. It sends the
// norm to all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class GradientNorm {
 public:
  // Collective over `pipeline_ranks`, the ranks of this pipeline, which agree on how many numbers
  // each brings, so that compute() takes no memory. The pipeline's weights must be allocated.
  // `replicas` are the ranks that hold the same stages, for pipelines that share updates. All
  // arguments must outlive this.
  GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks, Collective& replicas,
               Device& device);

  // The norm, the same bits on every rank. Collective over the pipeline's ranks and the replicas,
  // once the gradients of a step are complete, replicas' sums and tied parameters' included. Frozen
  // parameters count nothing, a tied one once.
  [[nodiscard]] double compute();
  // The first half of compute(), collective over the replicas alone: the sum of squares of each
  // parameter that this rank counts, valid until the next call. compute() adds up the sums of all
  // ranks in the order of places().
  [[nodiscard]] std::span<const double> squares();
  // The index among the tensors of the whole network of each parameter in squares().
  [[nodiscard]] const std::vector<int64_t>& places() const { return places_; }

 private:
  void list_blocks(const std::vector<const StateEntry*>& entries);
  void agree();
  void add_blocks();

  Collective& ranks_;
  Collective& replicas_;
  Device& device_;
  bool is_shared_ = false;
  Tensors gradients_;           // references to what this rank owns, trains and updates
  Tensor squares_;              // F64, their squares_by_block()
  std::vector<double> own_;     // the same on the host
  std::vector<double> of_all_;  // of all replicas, one after another; none where nothing is shared
  std::vector<size_t> block_at_;   // by block, in the order of the parameters: its place in of_all_
  std::vector<size_t> block_end_;  // by parameter, in block_at_
  std::vector<int64_t> places_;    // by parameter
  std::vector<double> here_;       // sums by parameter
  // The rest is filled on the pipeline's first rank only.
  std::vector<int> counts_;       // numbers that each rank brings
  std::vector<double> gathered_;  // the numbers, rank by rank
  std::vector<size_t> sources_;   // of each number in layer order, the place in gathered_
  std::vector<double> in_order_;  // the numbers in layer order
};

}  // namespace penstock
