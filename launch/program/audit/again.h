// launch/program/audit/again.h -- compares two run directories bit by bit, for `penstock audit`,
// which takes some steps of an earlier run again and looks where the results first differ.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct Comparison {
  std::string text;   // lines for people
  bool equal = true;  // whether nothing differs
};

// The first and the last step in metrics.jsonl of a run directory; 0: there are none.
struct StepsTaken {
  int64_t first = 0, last = 0;
};
// Throws Error(Data) naming file and line if metrics.jsonl is damaged, Error(Resource) if it cannot
// be read.
[[nodiscard]] StepsTaken steps_of(const std::string& run);

// Compares the run directories `then` and `now` at all steps after `from` that both have: first
// losses, gradient norms and evaluations in metrics.jsonl (of a step that several attempts took,
// the last line), then all tensors of their checkpoints, up to the first checkpoint that differs.
// Throws as steps_of() does, and Error(Data) for a damaged checkpoint.
[[nodiscard]] Comparison compare_runs(const std::string& then, const std::string& now,
                                      int64_t from);

}  // namespace penstock
