// runtime/network/autograd/logit_rows.h -- how many rows of a classifier's logits are in memory at
// a time. Pure: by shape alone, so that bits depend on the micro-batch and on nothing else.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

// Returns how many rows of the logits [rows, classes] a loss computes at a time: all of them where
// these are at most 64 MiB in fp32 or 512 rows, else as many as make pieces of nearly equal size
// within these limits. A product of fewer rows than 512 would take longer for reading the weight,
// and for adding to its gradient, than for multiplying.
[[nodiscard]] constexpr int64_t logit_rows_at_once(int64_t rows, int64_t classes) {
  constexpr int64_t kMostLogits = int64_t{16} << 20;
  constexpr int64_t kFewestRows = 512;
  constexpr int64_t kGroup = 64;  // rows of a piece are whole groups, so that products are aligned
  const int64_t most = std::max(kFewestRows, kMostLogits / classes / kGroup * kGroup);
  if (rows <= most) return rows;
  const int64_t pieces = (rows + most - 1) / most;
  return ((rows + pieces - 1) / pieces + kGroup - 1) / kGroup * kGroup;
}

}  // namespace penstock
