// runtime/planning/partition/partition.h -- balance(): the split of layers over stages by cost
// alone; check_split(): checks a split given by hand.
//
// A split is the number of layers of each stage, first stage first; stages are contiguous and none
// is empty. This room knows costs, not layers: where they come from (FLOPs, bytes, measured times)
// is the caller's business.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// The split whose most expensive stage is as cheap as possible; exact for costs summed from first
// to last layer in double. GPipe's own partitioner (arXiv:1811.06965, section 2.2) minimises the
// variance of the stage costs, by a heuristic; here the sum of squares decides among splits with
// the best bottleneck. Among equals still, earlier cuts win: the first stages hold the most
// micro-batches in flight, so they get the fewest layers. Costs that are all zero count as equal.
// O(layers x stages x log layers) at worst; 10,000 layers over 1,024 stages take well under 1 s.
// Throws std::invalid_argument for fewer than 1 stage, more stages than layers, or a cost that is
// negative or not finite.
[[nodiscard]] std::vector<int> balance(std::span<const double> costs, int stages);

// A split given by hand: returns it if it has one entry per stage, none below 1, and adds up to
// `layers`. Throws std::invalid_argument saying what it should be otherwise.
[[nodiscard]] std::vector<int> check_split(std::span<const int64_t> given, int layers, int stages);

}  // namespace penstock
