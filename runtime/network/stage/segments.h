// runtime/network/stage/segments.h -- the layers of a stage, cut into the stretches between two
// stashed inputs, and the skips (runtime/network/layers/skip.h) that cross their ends. Pure.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// Skips are numbered within the stage. Lists of numbers are in the order of the skips' layers: of
// their pops for skips that enter, of their stashes for skips that leave.
struct SegmentPlan {
  size_t first = 0, last = 0;      // layers [first, last)
  std::vector<int> entering = {};  // popped here, stashed before
  std::vector<int> leaving = {};   // stashed here, popped after
};

struct StagePlan {
  int skips = 0;                       // numbers in use
  std::vector<int> pop, stash;         // by layer: the skip's number, or -1
  std::vector<int> entering, leaving;  // of the whole stage
  std::vector<SegmentPlan> segments;
};

// Segments of `length` layers each (the last may be shorter); one ends after the first `untrained`
// layers.
[[nodiscard]] StagePlan plan_stage(std::span<const std::unique_ptr<Layer>> layers, size_t length,
                                   size_t untrained = 0);

// The last tensors of a tuple are skips: lay_aside() moves them to `skips` under those numbers,
// while the tuple's others go from segment to segment, and take_along() moves them back.
void lay_aside(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);
void take_along(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);

}  // namespace penstock
