// runtime/engine/pipeline/late_weights.h -- LateWeights: where replicas share the updates out, the
// weights that the other replicas have changed, on their way here while the next step's first
// forwards run.
//
// Half of the bytes that pass between replicas in a step are gradients, which travel while earlier
// layers still differentiate (runtime/network/stage/gradient_buckets.h). The other half are these
// weights, and a layer needs only those in front of it to begin.
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
  // `stages` share their updates (StageWeights::share()); they and the group must outlive this.
  // From here on each stage waits for its weights, layer by layer.
  LateWeights(std::span<const std::unique_ptr<Stage>> stages, ReduceGroup& group);

  // To be called after an update, when everything that was started before has arrived: starts
  // giving every replica the weights that the others have changed, those of the first layers first.
  // Collective over the replicas. Until await_all() nothing but the forwards of the stages may
  // touch the weights.
  void start();
  void await_all();

 private:
  struct Part {
    size_t stage;  // among the stages held here
    StageWeights::SharedValues shared;
  };
  // Waits for the weights that layers up to this one read.
  void await(size_t stage, size_t layer);

  ReduceGroup& group_;
  std::vector<Part> parts_;  // in the order in which forwards want them
  size_t arrived_;           // how many of parts_ have arrived; all: nothing is under way
};

}  // namespace penstock
