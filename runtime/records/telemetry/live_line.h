// runtime/records/telemetry/live_line.h -- lines about the progress of training as text, and
// Terminal, to which they go.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// A moving average of the step time over recent steps, without the first step, which pays for
// allocations and primitives. Zero until the second step.
class StepClock {
 public:
  void add(const StepRecord& record);
  [[nodiscard]] double average_ms() const { return average_ms_; }

 private:
  bool warm_ = false;
  double average_ms_ = 0.0;
};

// "step  120/2000 | loss 2.4513 | norm 0.83 | lr 1.00e-03 | 84.3 ms | 569 samples/s | ...", a plain
// line. `average_ms`: of recent steps (StepClock); `tokens`: with rates in tokens/s, too.
[[nodiscard]] std::string step_text(const StepRecord& record, int64_t total_steps,
                                    double average_ms, bool tokens);
// A live line: shorter, with a bar and the time left, in at most `width` columns.
[[nodiscard]] std::string live_text(const StepRecord& record, int64_t total_steps,
                                    double average_ms, bool tokens, int width);
// A line about an evaluation.
[[nodiscard]] std::string eval_text(const EvalRecord& record);

// Standard output: plain lines, and below them, where it is a terminal (or mpirun's is), a live
// line that is rewritten in place. PENSTOCK_PROGRESS=1 or 0 says whether there is a live line.
class Terminal {
 public:
  Terminal();
  ~Terminal();  // leaves no half line
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] bool live() const { return live_; }   // whether there is a live line
  [[nodiscard]] int width() const { return width_; }  // columns
  void print(const std::string& lines);  // without the last line's end; erases the live line
  // Whether to show a new live line, at most ten times a second.
  [[nodiscard]] bool due() const;
  void show(const std::string& line);  // draws the live line anew
  void erase();                        // removes the live line

 private:
  bool live_ = false;
  bool shown_ = false;
  int width_ = 80;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace penstock
