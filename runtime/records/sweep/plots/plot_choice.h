// runtime/records/sweep/plots/plot_choice.h -- PlotChoice: what the plots of a sweep show: the
// section [plot] of a sweep file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// What the error bars of measured dots span.
enum class ErrorBars : uint8_t {
  Quartiles,  // from the lower to the upper quartile; the dot is the median
  Deviation,  // one standard deviation on both sides; the dot is the mean
  None,       // the dot is the median
};
// "quartiles", "deviation", "none"
[[nodiscard]] const char* word_of(ErrorBars bars);

// Keys are "ranks" or full names of keys of the run file ("pipeline.micro_batches").
struct PlotChoice {
  std::string x = "ranks";         // what the x axis has
  std::string series = {};         // each value of this key has curves of its own; empty: one curve
  std::optional<bool> log_x = {};  // null: where the largest is more than eight times the smallest
  std::optional<bool> log_y = {};  // of throughput; null: as the x axis
  ErrorBars bars = ErrorBars::Quartiles;
};

}  // namespace penstock
