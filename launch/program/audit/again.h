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

// The last step that is in metrics.jsonl of that run directory; 0: none is. Throws as the reader of
// that file does.
[[nodiscard]] int64_t last_step_of(const std::string& run);

// Compares the run directories `then` and `now` at the steps after `from`: losses, norms and
// evaluations of metrics.jsonl (where several attempts took a step, the last one's), then all
// tensors of the checkpoints, up to the first checkpoint that differs. Throws as the readers of
// these files do.
[[nodiscard]] Comparison compare_runs(const std::string& then, const std::string& now,
                                      int64_t from);

}  // namespace penstock
