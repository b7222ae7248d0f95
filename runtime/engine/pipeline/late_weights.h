// runtime/engine/pipeline/late_weights.h -- LateWeights: the all-gather of updated weights at the
// end of a step, overlapped with the forwards of the next step.
//
// It is used where replicas share updates out as in ZeRO-1: each replica sums the gradients of its
// part of a stage's weights, updates that part, and must then send it to all others. Instead of
// waiting for everything, the forward of a layer waits only for the weights of the layers up to it.
// (The first half of the exchange, the reduce-scatter of gradients, overlaps with the backwards:
// runtime/network/stage/gradient_buckets.h.)
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/network/stage/stage.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class LateWeights {
 public:
  // `stages`: those of this rank, whose weights are shared out (StageWeights::share()); they and
  // `group`, the ranks with the same stages, must outlive this. From here on each stage waits by
  // itself, layer by layer, for the weights that its forward reads.
  LateWeights(std::span<const std::unique_ptr<Stage>> stages, ReduceGroup& group);

  // Called after the update, when all of the previous start() has arrived: starts sending this
  // rank's part to all replicas and receiving theirs, the first layers first. Collective over the
  // replicas. Until await_all() nothing but the stages' forwards may touch the weights.
  void start();
  void await_all();  // waits until all weights are here

 private:
  // The weights of some neighbouring layers, which travel together.
  struct Part {
    size_t stage;  // its index in `stages`
    StageWeights::SharedValues shared;
  };
  // Waits for the weights of `stage` that layers up to `layer` read, and all that come before them.
  void await(size_t stage, size_t layer);

  ReduceGroup& group_;
  std::vector<Part> parts_;  // in the order in which forwards need them
  size_t arrived_;           // how many of parts_ are here; parts_.size(): nothing is under way
};

}  // namespace penstock
