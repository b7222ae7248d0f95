// runtime/network/stage/stage_gradients.h -- StageGradients: the vector in which a stage adds up
// the gradients of the micro-batches of a step, until they are summed over replicas.
//
// It is one fp32 vector: the gradients of the trained parameters of all layers, in layer order, and
// behind them the step sums (StepSums) of batch norms and mixtures of experts, which forwards add
// up and replicas sum as well. Each Parameter::gradient is a view of it. Order in a step:
//   begin_step(), or begin_step(true) and later begin_gradients()
//   for each micro-batch: forward_done() after its forward; in its weight half complete(layer) and
//       layer_done(layer) for the layers from the last to the first; then backward_done()
//   before the weight half of the last micro-batch: begin_reduction(), which starts the sums
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

// How many elements a parameter takes in a vector that several parameters share, padding included:
// each starts on a cache line of 64 bytes.
[[nodiscard]] constexpr int64_t with_padding(int64_t elements, DType type = DType::F32) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(type));
  return (elements + line - 1) / line * line;
}

// For each layer of a stage, the parameters that it declared and that are trained, in that order.
using TrainedByLayer = std::vector<std::vector<Parameter*>>;

// A copy of a stage's gradients and step sums for an audit, fp32 and 1-d; empty where there are
// none.
struct KeptGradients {
  Tensor values;       // the gradients, copied by keep_copy()
  Tensor step_sums;    // the step sums, copied by keep_sums(), which is called earlier
  bool stale = false;  // Parameter::stale as it was when `values` were copied
};

class StageGradients {
 public:
  StageGradients() = default;
  // Makes the vector, all zero, and gives parameters (Parameter::gradient) and step sums
  // (StepSums::value) their parts of it. The arguments must outlive it.
  StageGradients(const TrainedByLayer& trained, Declared& declared, Device& device);
  // Called between two steps: from then on the gradients and step sums of the `micro_batches`
  // micro-batches of a step are added up in pairs (pairwise_sum.h).
  void add_in_pairs(int micro_batches);

  // Sets the step sums to zero and, unless `gradients_stay`, the gradients too. On a device that
  // prefers it (DeviceFacts::overwrites_gradients) the gradients are not set to zero but marked
  // stale (Parameter::stale), and the first micro-batch overwrites them; not where they are added
  // in pairs, since there every micro-batch begins at zero.
  void begin_step(bool gradients_stay);
  // Called before the first weight half of a step whose begin_step() let the gradients stay: sets
  // them to zero or marks them stale.
  void begin_gradients();

  // Called when a micro-batch's forward is done (its step sums are complete), and when its weight
  // half is done (its gradients are complete).
  void forward_done() { forward_sum_.next(); }
  void backward_done() { gradient_sum_.next(); }
  // Called when a micro-batch's weight half has passed this layer: gradients of the layer to which
  // nothing was added, so that they are still stale, become zero.
  void complete(size_t layer);
  // Called after complete(), and for layers without a backward too: in each weight half for all
  // layers from the last to the first.
  void layer_done(size_t layer) { buckets_.layer_done(layer); }

  // Called before the last weight half of a step: in it `start` is called with each bucket of
  // gradients (gradient_buckets.h) as soon as the bucket is complete, those of the last layers
  // first.
  void begin_reduction(GradientBuckets::Start start);
  [[nodiscard]] std::span<const GradientBuckets::Bucket> buckets() const {
    return buckets_.buckets();
  }

  // ---- for audits, which execute a micro-batch a second time
  // Copies all gradients; the copy takes as much memory again, from the first call on.
  void keep_copy();
  // Makes every Parameter::gradient a view of that copy, so that the second execution adds to the
  // copy; a second call makes them views of all() again. Sums over replicas read all() in either
  // case.
  void swap_copy();
  [[nodiscard]] KeptGradients& copy() { return copy_; }
  // The same two functions for the step sums.
  void keep_sums();
  void swap_sums();

  // The whole vector, 1-d.
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
