// runtime/records/sweep/plots/plot_values.h -- the values of the points of a sweep on the axes of
// its plots, and the titles of the axes.
#pragma once

#include <optional>
#include <string>

#include "runtime/records/sweep/plots/plot_choice.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// The value of `key` ("ranks", or a key of the run file) in the point, as text. Sizes, schedule and
// recompute mode are those that the point has, whether the grid lists them or not. Null: the grid
// does not vary the key.
[[nodiscard]] std::optional<std::string> plot_value(const SweepPoint& point,
                                                    const std::string& key);
// The same as a number; null also where it is none.
[[nodiscard]] std::optional<double> plot_number(const SweepPoint& point, const std::string& key);

// The title of an axis with these values, with their unit where they have one.
[[nodiscard]] std::string axis_title(const std::string& key);

// What the points of one plot have in common: the values of all keys outside of [pipeline] that are
// neither its x axis nor its series: "model.width 64, run.seed 2".
[[nodiscard]] std::string plot_group(const SweepPoint& point, const PlotChoice& choice);

}  // namespace penstock
