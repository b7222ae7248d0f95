// runtime/records/telemetry/live_line.h -- what a user sees while training runs: functions that
// write a step or an evaluation as a line of text, and Terminal, which prints lines and keeps one
// line at the bottom up to date (the live line, with a progress bar).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// The average time of about the last ten steps (exponential moving average). The first step of the
// process is left out, since it also allocates memory and prepares kernels. 0 until the second
// step.
class StepClock {
 public:
  void add(const StepRecord& record);
  [[nodiscard]] double average_ms() const { return average_ms_; }

 private:
  bool warm_ = false;
  double average_ms_ = 0.0;
};

// A line for the log: "step  120/2000 | loss 2.4513 | norm 0.83 | lr 1.00e-03 | 84.3 ms | 569
// samples/s | ...". `average_ms` is StepClock::average_ms(), from which the rates are computed;
// with 0 there are none. `tokens`: also write tokens/s.
[[nodiscard]] std::string step_text(const StepRecord& record, int64_t total_steps,
                                    double average_ms, bool tokens);
// The text of the live line: shorter, with a progress bar and the time that is left, cut off after
// `width` columns.
[[nodiscard]] std::string live_text(const StepRecord& record, int64_t total_steps,
                                    double average_ms, bool tokens, int width);
// A line for the log about an evaluation.
[[nodiscard]] std::string eval_text(const EvalRecord& record);

// Standard output: lines that stay, and below them a live line that is overwritten in place. There
// is a live line if the environment variable PENSTOCK_PROGRESS is 1, or if it is not set and the
// output (or mpirun's, which passes it on) goes to a terminal.
class Terminal {
 public:
  Terminal();
  ~Terminal();  // removes the live line
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] bool live() const { return live_; }   // whether there may be a live line
  [[nodiscard]] int width() const { return width_; }  // columns of the terminal
  // Prints lines that stay, and a newline after them. Removes the live line before.
  void print(const std::string& lines);
  // Whether to call show() now: there is a live line, and the last call was 0.1 s ago or more.
  [[nodiscard]] bool due() const;
  void show(const std::string& line);  // replaces the live line
  void erase();                        // removes the live line

 private:
  bool live_ = false;
  bool shown_ = false;  // a live line is on the screen
  int width_ = 80;
  std::chrono::steady_clock::time_point last_{};  // of the last show()
};

}  // namespace penstock
