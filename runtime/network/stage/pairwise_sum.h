// runtime/network/stage/pairwise_sum.h -- PairwiseSum: adds up the numbers of a step's
// micro-batches in pairs, by index (pipeline.reduction = "exact"), so that the number of replicas
// does not change a bit of the sum.
//
// Added one after another, ((g0 + g1) + g2) + g3, the gradients of four micro-batches have other
// bits than the sum over two replicas, (g0 + g1) + (g2 + g3). Added in pairs, both have the same
// bits: the micro-batches of a step are the leaves of a binary tree, the M micro-batches of a
// replica, M a power of two, are the leaves below one node, and the sum over replicas goes on in
// the same way (runtime/system/comm/pairwise.h). Where the number of leaves is no power of two, the
// tree lacks its right end: 7 are added as ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + g6).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/tensor.h"

namespace penstock {

// The number of tensors that hold sums of 1, 2, 4 ... micro-batches, each until as many more are
// summed.
[[nodiscard]] constexpr int pairwise_levels(int micro_batches) {
  return std::bit_width(static_cast<unsigned>(micro_batches - 1));
}

class PairwiseSum {
 public:
  // An object that does nothing: numbers are added up one after another, where they arrive.
  PairwiseSum() = default;
  // `arriving` (fp32, 1-d, kept) is the tensor to whose zeros each micro-batch adds its numbers, in
  // ascending order. Allocates pairwise_levels(micro_batches) tensors of that size
  // (Purpose::Gradients).
  PairwiseSum(const Tensor& arriving, int micro_batches, Device& device);

  // Called before the first micro-batch of a step, when `arriving` is zero.
  void begin();
  // Called when a micro-batch's numbers are complete: puts them aside and sets `arriving` to zero;
  // after the last micro-batch `arriving` holds the sum instead.
  void next();

  // Called in the last micro-batch for each `part`, a view of `arriving` that may reach beyond it,
  // as soon as the part's numbers are complete: adds the sums that were put aside. Once called in a
  // step, it must be called for every part before next().
  void finish(const Tensor& part);

 private:
  void add_waiting(int64_t first, int64_t elements);

  Tensor arriving_;
  int micro_batches_ = 0;
  Device* device_ = nullptr;
  std::vector<Tensor> waiting_;  // sums of 1, 2, 4 ... micro-batches; [i] used if bit i of done_ is
  int done_ = 0;                 // micro-batches put aside
  bool in_parts_ = false;
};

}  // namespace penstock
