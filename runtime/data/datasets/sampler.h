// runtime/data/datasets/sampler.h -- shuffled(): the random order in which an epoch visits the
// samples of a set, without a table.
#pragma once

#include <cstdint>

namespace penstock {

// The number of the sample that comes at place `index`, in [0, n), of epoch number `epoch`, from 0,
// of a set of n samples. For fixed seed and epoch it is a permutation of [0, n), computed for one
// index at a time and never stored, so that n may be of any size.
[[nodiscard]] int64_t shuffled(int64_t index, int64_t n, uint64_t seed, int64_t epoch);

}  // namespace penstock
