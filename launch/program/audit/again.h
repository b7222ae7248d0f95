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

// Compares two run directories at the steps after `from`: losses, norms and evaluations of
// metrics.jsonl (those of the last attempt, where several took a step), then all tensors of the
// checkpoints, up to the first checkpoint that differs. Throws as the readers of those files do,
// and Error(Input) where the two have no step in common.
[[nodiscard]] Comparison compare_runs(const std::string& then, const std::string& now,
                                      int64_t from);

}  // namespace penstock
