// runtime/system/comm/watch/hang_report.h -- what the activity logs of all ranks say of a run that
// hangs, in words and as JSON. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

// What one rank knows of another at a moment. Trivially copyable: it is sent between hosts.
struct RankView {
  ActivityData activity_log{};  // with its rank and host
  double now = 0.0;             // by the clock of the activity_log, when it was read
  double silence_s = 0.0;       // since the rank was last seen to go on
  uint64_t patience = 1;        // the silence allowed, in multiples of the wait limit
  bool is_known = false;        // else only activity_log.rank and activity_log.host say anything
  bool answers = false;         // its process runs
  bool is_stopped = false;      // by a signal
};

// A sentence about one rank, without its number: "waits for the gradient of stage 4, micro-batch 7,
// from rank 4 (301 s)", "is in Backward(4, 6) for 301 s".
[[nodiscard]] std::string sentence_about(const RankView& view);

// A line for each rank, beginning "rank 3 ", but at most `most` lines: ranks that hold up the
// others come first.
[[nodiscard]] std::vector<std::string> hang_lines(std::span<const RankView> ranks, size_t most);
// A summary in one line: since when, and because of whom.
[[nodiscard]] std::string hang_headline(std::span<const RankView> ranks);
// The whole report, the lines of every activity_log included, oldest first. Times are seconds
// before now.
[[nodiscard]] std::string hang_json(std::span<const RankView> ranks);

}  // namespace penstock
