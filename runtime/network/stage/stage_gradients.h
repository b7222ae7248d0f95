// runtime/network/stage/stage_gradients.h -- StageGradients: the gradients and step sums of one
// stage, from the first micro-batch of a step until they go to the other replicas.
//
// They are one fp32 vector: the gradients of all layers' parameters, in layer order, and behind
// them the step sums that forwards gather (StepSums). A frozen parameter has no gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.h"
#include "runtime/network/layers/parameter_set.h"
#include "runtime/network/stage/gradient_buckets.h"
#include "runtime/network/stage/pairwise_sum.h"

namespace penstock {

// The elements that a parameter takes in a buffer that several share, padding included: each starts
// on a cache line.
[[nodiscard]] constexpr int64_t with_padding(int64_t elements, DType type = DType::F32) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(type));
  return (elements + line - 1) / line * line;
}

// The parameters that each layer of a stage has declared and trains, in the order of declaration.
using TrainedByLayer = std::vector<std::vector<Parameter*>>;

// A copy of a stage's gradients and step sums, fp32 and 1-d; empty where there are none.
struct KeptGradients {
  Tensor values;       // the gradients, copied by keep_copy()
  Tensor step_sums;    // copied by keep_sums(), which may be earlier
  bool stale = false;  // `values` are the last step's, to be overwritten (Parameter::stale)
};

class StageGradients {
 public:
  StageGradients() = default;
  // Makes the vector, all zero, and gives parameters and step sums their parts of it. The arguments
  // must outlive it.
  StageGradients(const TrainedByLayer& trained, Declared& declared, Device& device);
  // Has the gradients and step sums of a step's `micro_batches` micro-batches added up in pairs,
  // from the next step on.
  void add_in_pairs(int micro_batches);

  // Sets the step sums to zero and, unless `gradients_stay`, the gradients. On a device that
  // prefers it (DeviceFacts::overwrites_gradients), gradients are marked stale instead, and the
  // first micro-batch overwrites them; not where they are added in pairs, since every micro-batch
  // begins at zero there.
  void begin_step(bool gradients_stay);
  // Sets gradients that stayed to zero, or marks them stale.
  void begin_gradients();

  // Called when a micro-batch's forward, or its weight half, is done.
  void forward_done() { forward_sum_.next(); }
  void backward_done() { gradient_sum_.next(); }
  // Called when a micro-batch's weight half has passed this layer: sets gradients of the layer that
  // are still stale to zero.
  void complete(size_t layer);
  // Called after complete(), also where a layer is passed over: layers come last to first.
  void layer_done(size_t layer) { buckets_.layer_done(layer); }

  // Called before the last weight half of a step, in which `start` is called with each bucket as
  // soon as the bucket is complete, those of the last layers first.
  void begin_reduction(GradientBuckets::Start start);
  [[nodiscard]] std::span<const GradientBuckets::Bucket> buckets() const {
    return buckets_.buckets();
  }

  // Copies all gradients (fp32: as much memory again, from the first call on).
  void keep_copy();
  // Makes the parameters' gradients views of that copy, so that micro-batches add to it; a second
  // call makes them views of all() again. Sums over replicas read all() in either case.
  void swap_copy();
  [[nodiscard]] KeptGradients& copy() { return copy_; }
  // The same for the step sums: keep_sums() copies them, swap_sums() exchanges them with the copy.
  void keep_sums();
  void swap_sums();

  // The vector of gradients and step sums.
  [[nodiscard]] Tensor& all() { return all_; }
  // The part of all() that holds the step sums.
  [[nodiscard]] Tensor step_sums() const;

 private:
  // Whether gradients are overwritten by the first micro-batch.
  bool mark_stale();

  const TrainedByLayer* trained_ = nullptr;
  Device* device_ = nullptr;
  Tensor all_;
  int64_t first_sum_ = 0;  // where in all_ the step sums begin
  bool in_pairs_ = false;
  GradientBuckets buckets_;
  KeptGradients copy_;
  Declared* declared_ = nullptr;
  PairwiseSum gradient_sum_, forward_sum_;
};

}  // namespace penstock
