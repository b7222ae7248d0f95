// launch/program/audit/again.h -- how `penstock audit` compares a run with the same steps taken
// again: the first place where their bits differ.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct Comparison {
  std::string text;  // lines for people
  bool equal = true;
};

// Compares the run directories `then` and `now` at the steps after `from`: losses, norms and
// evaluations of metrics.jsonl (where several attempts took a step, the last one's), then all
// tensors of the checkpoints, up to the first checkpoint that differs. Throws as the readers of
// these files do, and Error(Input) where the two have no step in common.
[[nodiscard]] Comparison compare_runs(const std::string& then, const std::string& now,
                                      int64_t from);

}  // namespace penstock
