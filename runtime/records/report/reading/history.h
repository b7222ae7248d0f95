// runtime/records/report/reading/history.h -- HistoryReader: reads metrics.jsonl, in which a run
// writes a line for each step and each evaluation, and returns each step once, although a run that
// was stopped and resumed has done some steps twice.
//
// An attempt is one start of the run. After a crash the next attempt goes on from the last
// checkpoint and repeats the steps after it; their later lines count. telemetry/json_records.h
// writes the lines. last_evaluation() is what a run that goes on takes from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// The line of one step; its numbers are those of StepRecord (telemetry/records.h). A number is NaN
// if the line has none, or one that is not finite.
struct StepPoint {
  int64_t step = 0, attempt = 1;
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double step_ms = 0, data_wait_ms = 0;
  double samples_per_s = 0, tokens_per_s = 0;
  // The rows of the fullest expert as a multiple of its layer's mean, and how many experts had
  // none.
  double expert_load = 0, idle_experts = 0;
  bool left_out = false;  // the update was skipped, since loss or gradient were not finite
};

// The line of one evaluation, after the step `step`.
struct EvalPoint {
  int64_t step = 0, attempt = 1;
  double loss = 0, accuracy = 0;
};

// The steps for which an attempt has written lines.
struct AttemptSpan {
  int64_t attempt = 1, first_step = 0, last_step = 0, lines = 0;
  int64_t replaced = 0;  // how many of its lines do not count, since a later attempt repeated them
};

struct History {
  std::vector<StepPoint> steps;       // by ascending step, each once
  std::vector<EvalPoint> evals;       // by ascending step, each once
  std::vector<AttemptSpan> attempts;  // ascending
};

// Call add() for each line in the order of the file, then finish().
class HistoryReader {
 public:
  // Takes a line without its newline; ignores an empty one. `where` is file and line, for messages.
  // Throws Error(Data) naming `where` if it is no such line.
  void add(std::string_view line, const std::string& where);
  // Returns what was read. Of several lines for one step the one of the highest attempt counts, or
  // the last one of the same attempt. Leaves the reader empty.
  [[nodiscard]] History finish();

 private:
  History read_;
};

// The evaluation that the file `metrics` (its path) tells of last, of those after a step up to
// `most_step`; null if there is none, or no such file. Throws Error(Data) naming file and line
// where the line of an evaluation cannot be read.
[[nodiscard]] std::optional<EvalRecord> last_evaluation(const std::string& metrics,
                                                        int64_t most_step);

}  // namespace penstock
