// runtime/engine/pipeline/late_weights.h -- LateWeights: brings the weights that other replicas
// have updated, where replicas share the updates out, while the next step's first forwards run.
//
// Half of the bytes that pass between replicas in a step are gradients, which travel while earlier
// layers still differentiate (runtime/network/stage/gradient_buckets.h). The other half are updated
// weights: the forward of a layer waits only for those of the layers up to it.
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

  // To be called after an update, when all that an earlier start() sends has arrived: starts giving
  // every replica the weights that the others have changed, those of the first layers first.
  // Collective over the replicas. Until await_all() nothing but the forwards of the stages may
  // touch the weights.
  void start();
  void await_all();  // returns when all of them have arrived

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
