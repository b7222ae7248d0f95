#include "launch/program/sweep/host_cores.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/records/telemetry/units.h"

namespace penstock {

std::optional<std::string> core_note(const DrawnSweep& drawn, int cores) {
  int64_t most = 0;
  const SweepPoint* largest = nullptr;
  int64_t threads = 1;  // of a rank of the largest point
  for (size_t i = 0; i < drawn.record.points.size(); ++i) {
    const SweepPoint& point = drawn.record.points[i];
    if (!point.skipped.empty()) continue;
    const int64_t of_rank = std::max(1, drawn.configs[i].run.threads);
    const int64_t all = of_rank * point.sizes.ranks();
    if (all <= most) continue;
    most = all;
    largest = &point;
    threads = of_rank;
  }
  if (most <= cores) return std::nullopt;
  return fmt::format(
      "{} has {} of {}, and this host {}: where the launcher starts them here they share cores, "
      "and "
      "are slower than planned",
      largest->name, amount_text(largest->sizes.ranks(), "rank"), amount_text(threads, "thread"),
      amount_text(cores, "core"));
}

}  // namespace penstock
