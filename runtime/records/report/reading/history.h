// runtime/records/report/reading/history.h -- History: what metrics.jsonl tells of all attempts of
// a run (json_records.h writes it), with each step once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Numbers are NaN where the line has none, or none that is finite.
struct StepPoint {
  int64_t step = 0, attempt = 1;
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double step_ms = 0, data_wait_ms = 0;
  double samples_per_s = 0, tokens_per_s = 0;
  bool left_out = false;  // the step's update was left out
};

struct EvalPoint {
  int64_t step = 0, attempt = 1;
  double loss = 0, accuracy = 0;
};

struct AttemptSpan {  // steps of which an attempt has lines
  int64_t attempt = 1, first_step = 0, last_step = 0, lines = 0;
  int64_t replaced = 0;  // lines that do not count: a later attempt did their step again
};

struct History {
  std::vector<StepPoint> steps;       // by ascending step, each once
  std::vector<EvalPoint> evals;       // by ascending step, each once
  std::vector<AttemptSpan> attempts;  // ascending
};

// Takes the lines in the order of the file.
class HistoryReader {
 public:
  // Takes a line without its end; empty ones are passed over. Throws Error(Data) naming `where`,
  // which should be file and line, for what is no such line.
  void add(std::string_view line, const std::string& where);
  // Returns each step once: of several lines of a step, the one of the highest attempt counts, or
  // the latest of the same attempt. Leaves the reader empty.
  [[nodiscard]] History finish();

 private:
  History read_;
};

}  // namespace penstock
