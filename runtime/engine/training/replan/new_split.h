// runtime/engine/training/replan/new_split.h -- how the layers of a running network should be split
// over its stages, given how long its ranks have computed in the last steps. Changes nothing.
//
// The planner decides, as before the run, with all but the split as it is. What differs is how fast
// its devices are: each is taken to be as much slower than its model or profile says as its rank
// has computed longer than that predicts for the present split.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/schedule/search/bounds/certificate.h"
#include "runtime/system/comm/grid.h"

namespace penstock {

// Returns the layers of each stage as a user writes them: "4,2".
template <class Number>
[[nodiscard]] std::string split_text(const std::vector<Number>& split) {
  std::string text;
  for (const Number layers : split) text += (text.empty() ? "" : ",") + std::to_string(layers);
  return text;
}

// A run as it is.
struct RunningPlan {
  const Config& config;
  const Blueprint& blueprint;
  Grid grid;
  int ranks_per_node = 0;  // 0: all ranks are on one node
  int64_t rank_bytes = 0;  // the memory of a rank, which a searched schedule keeps; 0: no limit
};

// By world rank, the seconds that a step's compute instructions should take on its own device.
[[nodiscard]] std::vector<double> predicted_compute(const RunningPlan& running,
                                                    const Devices& devices);
// The same devices, each as fast as it was: `predicted_s` and `measured_s` are the seconds in
// compute instructions of a step, by world rank. Factors of speed are rounded to 2 %, so that equal
// ranks stay of one kind. A rank without a prediction or a measurement stays as fast as it is.
[[nodiscard]] Devices measured_devices(const Devices& devices, std::span<const double> predicted_s,
                                       std::span<const double> measured_s);

struct NewSplit {
  // The run's, with the new pipeline.split and, where its schedule is a searched one, what was
  // found for that split (pipeline.schedule_csv).
  Config config;
  std::optional<Certificate> certificate = {};  // of what was found
  // Of a step as the run is, and with the new split, both on the devices as they were given.
  Forecast now, then;
};
// Searches where the split is another one and the schedule is searched.
// `wanted`: by stage, how many layers; empty: the planner chooses. `vocabulary` and `classes` as in
// draw_up(). Throws Error(Input) where nothing fits, or where the network cannot be split so.
[[nodiscard]] NewSplit find_new_split(const RunningPlan& running, const Devices& devices,
                                      const std::vector<int>& wanted, const ModelMaker& models,
                                      int64_t vocabulary, int64_t classes);

}  // namespace penstock
