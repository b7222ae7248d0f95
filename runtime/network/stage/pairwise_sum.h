// runtime/network/stage/pairwise_sum.h -- PairwiseSum: the numbers of a step's micro-batches, added
// up in pairs by their index (pipeline.reduction = "exact"), so that replicas do not change the
// sum.
//
// Added one after another, ((g0 + g1) + g2) + g3, the gradients of four micro-batches have other
// bits than those of two replicas, (g0 + g1) + (g2 + g3). In pairs they have the same: the
// micro-batches of a step are the leaves of a binary tree, a replica's share of M of them, M a
// power of two, is one node of it, and the sum over replicas goes on in the same way
// (runtime/system/comm/pairwise.h). Where the number of leaves is no power of two, the tree lacks
// its right end: 7 of them are ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + g6).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/tensor.h"

namespace penstock {

// The number of tensors for sums of 1, 2, 4 ... micro-batches that wait for as many more.
[[nodiscard]] constexpr int pairwise_levels(int micro_batches) {
  return std::bit_width(static_cast<unsigned>(micro_batches - 1));
}

class PairwiseSum {
 public:
  // Does nothing: the numbers are added up one after another, where they arrive.
  PairwiseSum() = default;
  // `arriving` (fp32, 1-d, kept): each micro-batch adds its numbers there, in ascending order, to
  // zeros. Takes pairwise_levels(micro_batches) tensors as large (Purpose::Gradients).
  PairwiseSum(const Tensor& arriving, int micro_batches, Device& device);

  // Called before the first micro-batch of a step; the tensor is zero.
  void begin();
  // The next micro-batch's numbers are complete: puts them aside and sets the tensor to zero. After
  // the last one the tensor holds the sum instead.
  void next();

  // Called with the last micro-batch for each `part`, a view of the tensor or larger, as soon as
  // the part's numbers are complete: adds the sums that were put aside. Once this was called in a
  // step, it must be for every part before next().
  void finish(const Tensor& part);

 private:
  void add_waiting(int64_t first, int64_t elements);

  Tensor arriving_;
  int micro_batches_ = 0;
  Device* device_ = nullptr;
  std::vector<Tensor> waiting_;  // of 1, 2, 4 ... micro-batches; in use by the bits of done_
  int done_ = 0;                 // micro-batches put aside
  bool in_parts_ = false;
};

}  // namespace penstock
