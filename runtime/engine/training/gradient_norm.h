// runtime/engine/training/gradient_norm.h -- GradientNorm: the L2 norm of the whole network's
// gradient, for clipping, when every rank of a pipeline holds only a part of the parameters.
//
// The result must be the same bits for every number of stages and every schedule, so the order of
// additions is fixed. Each rank squares and adds up the gradient of each of its parameters: one
// number a parameter. The first rank of the pipeline gathers these numbers, adds them up in the
// order of the network's layers, takes the root, and sends it to all. Replicas that share the
// updates out (as in ZeRO-1) each square the elements that they update, and first exchange a number
// for every few thousand elements.
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
  // each brings, so that compute() needs no memory. `replicas`: the ranks that hold the same
  // stages. The pipeline's weights must be allocated. All arguments must outlive this.
  GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks, Collective& replicas,
               Device& device);

  // The norm, the same bits on every rank. Collective over the pipeline's ranks and over the
  // replicas. Called once the gradients of a step are complete, sums over replicas and of tied
  // parameters included. Frozen parameters are left out; a parameter that several layers hold
  // counts once.
  [[nodiscard]] double compute();
  // The first half of compute(): the sum of squares of each parameter that this rank counts; valid
  // until the next call. Collective over the replicas alone. late_verdict.h sends them by itself.
  [[nodiscard]] std::span<const double> squares();
  // For each number of squares(), the index of its parameter among all tensors of the network. The
  // norm adds the numbers of all ranks in ascending order of these.
  [[nodiscard]] const std::vector<int64_t>& places() const { return places_; }

 private:
  void list_blocks(const std::vector<const StateEntry*>& entries);
  void agree();
  void add_blocks();

  Collective& ranks_;
  Collective& replicas_;
  Device& device_;
  bool is_shared_ = false;   // replicas share the updates out
  Tensors gradients_;        // views of the gradients that this rank counts and updates
  Tensor squares_;           // F64: the sums of squares, block by block
  std::vector<double> own_;  // the same on the host
  // The blocks of all replicas, one after another; empty where nothing is shared.
  std::vector<double> of_all_;
  std::vector<size_t> block_at_;   // by block, in the order of parameters: its place in of_all_
  std::vector<size_t> block_end_;  // by parameter: where its blocks end in block_at_
  std::vector<int64_t> places_;    // by parameter
  std::vector<double> here_;       // by parameter: what squares() returns
  // The rest is filled on the pipeline's first rank only.
  std::vector<int> counts_;       // numbers that each rank brings
  std::vector<double> gathered_;  // the numbers, rank by rank
  std::vector<size_t> sources_;   // of each number in layer order, the place in gathered_
  std::vector<double> in_order_;  // the numbers in layer order
};

}  // namespace penstock
