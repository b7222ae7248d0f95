// runtime/engine/measurements/rank_clocks.h -- RankClocks: how far the monotonic clock of each rank
// is from rank 0's.
#pragma once

#include <vector>

#include "runtime/engine/measurements/clock_estimate.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The monotonic clock of this process in seconds, as HostClock and std::chrono::steady_clock count.
[[nodiscard]] double monotonic_seconds();

class RankClocks {
 public:
  // Collective over `world`, which must outlive this: finds out which ranks share a clock. Ranks
  // under one boot of one kernel do, except in different time namespaces.
  explicit RankClocks(Collective& world);

  // Collective: rank 0 reads every clock that is not its own, once for all ranks that share it, in
  // a millisecond or less each. Of several calls the first and the last count.
  void read();

  // Valid on rank 0 alone: the clock of that rank, from the first and the last reading.
  [[nodiscard]] const OtherClock& of_rank(int rank) const;
  // Valid on rank 0 alone.
  [[nodiscard]] int different() const;   // the number of clocks, rank 0's included
  [[nodiscard]] double error_s() const;  // the largest error of all clocks

 private:
  [[nodiscard]] ClockReading ask(int rank);
  void answer();

  Collective& world_;
  bool has_read_ = false;
  std::vector<int> reader_of_;      // by rank: the first rank with the same clock
  std::vector<OtherClock> clocks_;  // on rank 0, by rank; filled for those that are read
};

}  // namespace penstock
