// launch/program/audit/again.h -- what `penstock audit` makes of a run and of the same steps taken
// again: where their bits part.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct Comparison {
  std::string text;  // lines for people
  bool equal = true;
};

// Of two run directories, steps after `from`: losses, norms and evaluations of metrics.jsonl, of a
// step that several attempts took the last one's, then all tensors of the first checkpoint that
// differs, or of all where none does. Throws as the readers of those files do, and Error(Input)
// where the two have no step in common.
[[nodiscard]] Comparison compare_runs(const std::string& then, const std::string& now,
                                      int64_t from);

}  // namespace penstock
