// runtime/data/datasets/sampler.h -- the order in which an epoch visits its samples.
#pragma once

#include <cstdint>

namespace penstock {

// The sample at place `index` of an epoch of n samples: a permutation of [0, n) drawn from (seed,
// epoch), computed for each index without storing it, so n may be of any size.
[[nodiscard]] int64_t shuffled(int64_t index, int64_t n, uint64_t seed, int64_t epoch);

}  // namespace penstock
