// runtime/data/datasets/sampler.h -- the order in which an epoch visits its samples.
#pragma once

#include <cstdint>

namespace penstock {

// Bijection of [0, n) for epoch e: a permutation drawn from (seed, e), computed per index without
// storing it (works for n of any size).
[[nodiscard]] int64_t shuffled(int64_t index, int64_t n, uint64_t seed, int64_t epoch);

}  // namespace penstock
