// runtime/network/stage/segments.h -- cuts the layers of a stage into segments, each of which is
// recomputed as a whole, and lists the skips (runtime/network/layers/skip.h) that cross their ends.
// Pure.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// One segment. Skips are numbered within the stage; skips that enter are listed in the order of
// their pops, skips that leave in the order of their stashes.
struct SegmentPlan {
  size_t first = 0, last = 0;      // layers [first, last)
  std::vector<int> entering = {};  // popped here, stashed before
  std::vector<int> leaving = {};   // stashed here, popped after
};

struct StagePlan {
  int skips = 0;                       // how many: numbers 0 .. skips - 1
  std::vector<int> pop, stash;         // by layer: the skip's number, or -1
  std::vector<int> entering, leaving;  // skips that cross the stage's ends
  std::vector<SegmentPlan> segments;
};

// Cuts segments of `length` layers each; the last may be shorter, and so may the segment that ends
// after the first `untrained` layers, where a cut always is.
[[nodiscard]] StagePlan plan_stage(std::span<const std::unique_ptr<Layer>> layers, size_t length,
                                   size_t untrained = 0);

// The last tensors of a tuple are skips, with these numbers: lay_aside() moves them from its end to
// skips[number], take_along() moves them back. The tuple's other tensors go from segment to
// segment.
void lay_aside(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);
void take_along(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);

}  // namespace penstock
