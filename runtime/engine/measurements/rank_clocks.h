// runtime/engine/measurements/rank_clocks.h -- RankClocks: measures how far the clock of every rank
// is from rank 0's, so that the times in a trace of all ranks can be put on one axis.
//
// The clock is the monotonic one of the kernel, which all ranks of a host share. So rank 0
// exchanges messages with one rank of each other host (clock_estimate.h has the arithmetic).
// TraceRecorder calls read() before the first recorded step and after the last one.
#pragma once

#include <vector>

#include "runtime/engine/measurements/clock_estimate.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The monotonic clock of this process in seconds, as HostClock and std::chrono::steady_clock count.
[[nodiscard]] double monotonic_seconds();

class RankClocks {
 public:
  // Collective over `world`, all ranks of the job, which must outlive this: finds out which ranks
  // share a clock. Ranks in one boot of one kernel do, unless they are in different time
  // namespaces.
  explicit RankClocks(Collective& world);

  // Collective over `world`: rank 0 reads every other clock once, in a millisecond or less each.
  // The first call and the most recent one are kept; calls between them are forgotten.
  void read();

  // The clock of that rank, from the first reading and the last. Valid on rank 0 alone, after
  // read().
  [[nodiscard]] const OtherClock& of_rank(int rank) const;
  // The number of different clocks, rank 0's included. Valid on rank 0 alone.
  [[nodiscard]] int different() const;
  // The most by which any clock may be wrong, in seconds. Valid on rank 0 alone.
  [[nodiscard]] double error_s() const;

 private:
  // Reads the clock of `rank`: called on rank 0, while that rank is in answer().
  [[nodiscard]] ClockReading ask(int rank);
  void answer();

  Collective& world_;
  bool has_read_ = false;
  std::vector<int> reader_of_;      // by rank: the first rank with the same clock
  std::vector<OtherClock> clocks_;  // on rank 0, by rank; filled for those that are read
};

}  // namespace penstock
