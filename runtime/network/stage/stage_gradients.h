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

// Parameters share one buffer; each starts on a cache line. The elements that one takes, padding
// included.
[[nodiscard]] constexpr int64_t with_padding(int64_t elements, DType type = DType::F32) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(type));
  return (elements + line - 1) / line * line;
}

// The parameters that each layer of a stage has declared and trains, in the order of declaration.
using TrainedByLayer = std::vector<std::vector<Parameter*>>;

// A copy of the gradients and step sums of a stage: fp32, in one row; empty where there are none.
struct KeptGradients {
  Tensor values;       // of the parameters
  Tensor step_sums;    // not of the same moment
  bool stale = false;  // the values are the last step's, and are overwritten (Parameter::stale)
};

class StageGradients {
 public:
  StageGradients() = default;
  // Makes the vector, all zero, and gives parameters and step sums their parts of it. The arguments
  // must outlive it.
  StageGradients(const TrainedByLayer& trained, Declared& declared, Device& device);
  // Adds the micro-batches of a step up in pairs from the next step on; `micro_batches` is their
  // number.
  void add_in_pairs(int micro_batches);

  // The step sums begin at zero and, unless they stay, so do the gradients. On a device that
  // prefers it (DeviceFacts::overwrites_gradients) gradients are not filled but marked stale: the
  // first micro-batch overwrites them. This excludes gradients that are added in pairs, since every
  // micro-batch begins those anew.
  void begin_step(bool gradients_stay);
  // Gradients that have stayed begin at zero, too.
  void begin_gradients();

  // A micro-batch's forward or its weight half is done.
  void forward_done() { forward_sum_.next(); }
  void backward_done() { gradient_sum_.next(); }
  // The weight half of a micro-batch has come past this layer: gradients of it that are still stale
  // become zero.
  void complete(size_t layer);
  // Called after complete(), also where a layer is passed over: layers come last to first.
  void layer_done(size_t layer) { buckets_.layer_done(layer); }

  // The next weight half is the last of the step: `start` is called with each bucket as soon as it
  // is complete, those of the last layers first.
  void begin_reduction(GradientBuckets::Start start);
  [[nodiscard]] std::span<const GradientBuckets::Bucket> buckets() const {
    return buckets_.buckets();
  }

  // Keeps the gradients as they are now aside (fp32, all of them: as much memory again, from the
  // first time on), ...
  void keep_copy();
  // ... and changes places with that copy: what is added to the parameters' gradients goes there,
  // and after a second call to where it went before. Sums over replicas do not notice.
  void swap_copy();
  [[nodiscard]] KeptGradients& copy() { return copy_; }
  // keep_copy() and swap_copy() of the step sums.
  void keep_sums();
  void swap_sums();

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
