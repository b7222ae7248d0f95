// launch/program/start/rank_table.h -- prints the table of ranks before the first step: each rank's
// host, device, cores, stages and layers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launch/program/threads.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/link_plan.h"

namespace penstock {

// One row of the table.
struct RankRow {
  int rank = 0;
  std::string host, device;
  std::string stages;  // "2", or "0, 4" for a rank that holds several
  int replica = 0;
  std::string layers;      // "blocks.0 .. blocks.3"
  int64_t parameters = 0;  // how many numbers the parameters that this rank keeps have
  std::string cores;       // the number of each core's first hardware thread: "0-3, 8"
};

// The rows of all ranks. `facts` and `cores`: by world rank.
[[nodiscard]] std::vector<RankRow> rank_rows(const Blueprint& blueprint, const Grid& grid,
                                             std::span<const RankFacts> facts,
                                             std::span<const RankCores> cores);
// The rows as aligned text, with a heading and without a last line break. Where there are more than
// `most` rows it has the first and the last ones, and between them how many were left out.
[[nodiscard]] std::string rank_table(std::span<const RankRow> rows, size_t most);

// A line that says how many of the links from stage to stage, and how many of the sums over
// replicas, stay within a host (pipeline.placement decides which of the two kinds do). Empty where
// there is only one host.
[[nodiscard]] std::string neighbours_text(const Grid& grid, std::span<const RankFacts> facts);

}  // namespace penstock
