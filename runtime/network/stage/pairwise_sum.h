// runtime/network/stage/pairwise_sum.h -- PairwiseSum: adds up a stage's gradients over the
// micro-batches of a step in pairs, as a binary tree does, so that the number of replicas does not
// change a bit of the sum (pipeline.reduction = "exact").
//
// Why: one replica that adds four micro-batches one after another computes ((g0 + g1) + g2) + g3;
// two replicas with two each compute (g0 + g1) + (g2 + g3), which rounds differently. Added in
// pairs both compute the second form. Each replica adds its M micro-batches, M a power of two, as a
// subtree, and the sum over replicas (runtime/system/comm/pairwise.h) adds the subtrees in the same
// way. Where the number of micro-batches is no power of two, the tree lacks its right end: 7 are
// added as ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + g6).
//
// Order in each step: begin(); then for each micro-batch its numbers are added to `arriving`, and
// next() is called. Sums of 1, 2, 4 ... micro-batches wait in tensors of their own.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/tensor.h"

namespace penstock {

// How many waiting tensors the sum of that many micro-batches needs: log2, rounded up; 0 for one
// micro-batch.
[[nodiscard]] constexpr int pairwise_levels(int micro_batches) {
  return std::bit_width(static_cast<unsigned>(micro_batches - 1));
}

class PairwiseSum {
 public:
  // An object whose functions do nothing (pipeline.reduction = "fast"): numbers of all
  // micro-batches are added up in `arriving`, one after another.
  PairwiseSum() = default;
  // `arriving` (fp32, 1-d, a view that this object keeps) is the tensor to which each micro-batch
  // adds its numbers, in ascending order. Allocates pairwise_levels(micro_batches) tensors of its
  // size (Purpose::Gradients).
  PairwiseSum(const Tensor& arriving, int micro_batches, Device& device);

  // Called before the first micro-batch of a step, when `arriving` is zero.
  void begin();
  // Called when a micro-batch's numbers are complete. Moves them to the waiting tensors and sets
  // `arriving` to zero; at the last micro-batch it adds the waiting sums, and `arriving` holds the
  // sum over all micro-batches.
  void next();

  // May be called in the last micro-batch to have parts of the sum early: adds the waiting sums to
  // `part` as soon as the part's numbers are complete. `part` is a view of the memory of `arriving`
  // that may reach beyond its end, where nothing is done. If it is called for one part, it must be
  // called for parts that make up all of `arriving` before next(), which then adds nothing.
  void finish(const Tensor& part);

 private:
  void add_waiting(int64_t first, int64_t elements);

  Tensor arriving_;
  int micro_batches_ = 0;
  Device* device_ = nullptr;
  // [i] holds the sum of 2^i micro-batches while bit i of done_ is set.
  std::vector<Tensor> waiting_;
  int done_ = 0;           // micro-batches in waiting_
  bool in_parts_ = false;  // finish() was called in this step
};

}  // namespace penstock
