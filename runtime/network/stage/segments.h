// runtime/network/stage/segments.h -- plan_stage(): cuts the layers of a stage into segments, the
// pieces that are recomputed as a whole (activation checkpointing), and finds the skips
// (runtime/network/layers/skip.h) that enter and leave each.
//
// With recompute = "stage" all layers are one segment, with "layer" each layer is one. Example,
// layers 0 to 3 of one segment each, where layer 0 stashes a skip that layer 3 pops: segment 0 has
// it leaving, segment 3 has it entering. Pure functions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// One segment. Layers and skips are numbered from 0 within the stage. Skips that enter are listed
// in the order in which layers pop them, skips that leave in the order in which layers stash them.
struct SegmentPlan {
  size_t first = 0, last = 0;      // layers [first, last)
  std::vector<int> entering = {};  // popped here, stashed before the segment
  std::vector<int> leaving = {};   // stashed here, popped after the segment
};

struct StagePlan {
  int skips = 0;                       // how many skips the stage's layers stash or pop
  std::vector<int> pop, stash;         // by layer: the number of the skip, or -1
  std::vector<int> entering, leaving;  // skips that come from, or go to, other stages
  std::vector<SegmentPlan> segments;
};

// Cuts segments of `length` layers each; the last one may be shorter. The first `untrained` layers,
// which have no backward, are cut off from the others, so the segment before that cut may be
// shorter too.
[[nodiscard]] StagePlan plan_stage(std::span<const std::unique_ptr<Layer>> layers, size_t length,
                                   size_t untrained = 0);

// What passes from segment to segment is a tuple of tensors: the outputs of the last layer, then
// the skips with these `numbers`. lay_aside() moves the skips from the end of the tuple to
// skips[number]; take_along() moves them from there to the end of the tuple.
void lay_aside(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);
void take_along(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips);

}  // namespace penstock
