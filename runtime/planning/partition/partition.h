// runtime/planning/partition/partition.h -- balance(): divides the layers of a network over
// pipeline stages so that the most expensive stage is as cheap as possible; check_split(): checks a
// division that the user gave.
//
// A split is the number of layers of each stage, first stage first: {3, 2} puts layers 0, 1, 2 in
// stage 0 and layers 3, 4 in stage 1. No stage is empty. Costs are plain numbers here (FLOPs, bytes
// or seconds, as the caller likes). limited.h has the version that also keeps memory limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Returns the best split of layers with these `costs` (one per layer; a stage costs their sum). The
// best split has the smallest cost of its most expensive stage; among several, the smallest sum of
// squared stage costs; among several still, the earliest cuts, so that the first stages, which hold
// the most micro-batches in flight, get the fewest layers. The result is exact, where GPipe's own
// partitioner (arXiv:1811.06965, section 2.2) uses a heuristic. If all costs are 0, layers count as
// equal. O(layers x stages x log layers) at worst; 10,000 layers over 1,024 stages take well under
// 1 s. Throws std::invalid_argument for fewer than 1 stage, more stages than layers, or a cost that
// is negative or not finite.
[[nodiscard]] std::vector<int> balance(std::span<const double> costs, int stages);

// Returns the split `given` by the user if it has one entry per stage, none below 1, and they add
// up to `layers`. Otherwise throws std::invalid_argument with a sentence that says what the split
// should be.
[[nodiscard]] std::vector<int> check_split(std::span<const int64_t> given, int layers, int stages);

}  // namespace penstock
