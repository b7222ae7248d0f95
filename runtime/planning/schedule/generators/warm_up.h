// runtime/planning/schedule/generators/warm_up.h -- forwards_ahead(): how many forwards a rank runs
// before its first backward.
//
// The least is one for each rank behind it (1F1B, ZB-H1). `warm_up` is how many more rank 0 runs;
// the other ranks run a share of that by how many ranks are behind them, rounded up, and the last
// rank none: a gradient that takes longer to come back is late by a time for each hop. With one
// more for each rank behind rank 0, that is ranks - 1, warm-ups are twice as deep (1f1b-deep,
// ZB-H2).
#pragma once

#include <cstdint>

namespace penstock {

[[nodiscard]] inline int64_t forwards_ahead(int ranks, int rank, int warm_up) {
  const int64_t behind = ranks - 1 - rank;
  if (behind == 0) return 0;
  return behind + (warm_up * behind + ranks - 2) / (ranks - 1);
}

}  // namespace penstock
