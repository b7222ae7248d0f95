// runtime/planning/drawing/answer.cpp -- see answer.h.
#include "runtime/planning/drawing/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/stash.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/simulate.h"

namespace penstock {
namespace {

void check(const ScheduleSettings& settings) {
  for (const double time : {settings.forward, settings.backward_input, settings.backward_weight}) {
    if (!(time >= 0) || !std::isfinite(time)) {
      throw std::invalid_argument("--times must be three numbers F,B,W of at least 0");
    }
  }
  if (!(settings.latency >= 0) || !std::isfinite(settings.latency)) {
    throw std::invalid_argument("--latency must be a number of at least 0");
  }
}

// Returns the recipe of the schedule. If there is a CSV file, its own sizes count, and those of the
// settings are left out.
Recipe recipe_of(const ScheduleSettings& settings) {
  const bool own = !settings.csv.empty();
  return {.schedule = settings.schedule,
          .csv = settings.csv,
          .stages = own ? 0 : settings.stages,
          .micro_batches = own ? 0 : settings.micro_batches,
          .chunks = settings.chunks,
          .stage_ranks = settings.stage_ranks,
          .warm_up = settings.warm_up,
          .recompute = settings.recompute};
}

// Returns the times of a stage that does `share` of a rank's work. If `recompute` is layer, each
// layer is run again inside the backward, right before it is differentiated. That time is added to
// the backward, so it hides in no bubble. The last layer of a stage could be run before the
// gradient is there, but this is neglected.
StageTimes times_of(const ScheduleSettings& settings, double share) {
  const bool inside = settings.recompute == "layer";
  const double forward = settings.forward * share;
  const double again = inside ? forward : 0;
  const double input = settings.backward_input * share;
  const double weight = settings.backward_weight * share;
  return {.forward = forward,
          .recompute = inside ? 0 : forward,
          .backward_input = input + again,
          .backward_weight = weight,
          .backward = input + weight + again};
}

std::vector<StashLevel> stash_levels(const std::vector<TimedInstruction>& spans) {
  std::vector<StashLevel> levels = {{0, 0}};
  HeldStashes held;
  for (const TimedInstruction& span : spans) {
    const int before = held.whole;
    held.after(span.instruction.op);
    if (held.whole != before) levels.push_back({span.end, held.whole});
  }
  return levels;
}

ScheduleAnswer timed(ProvedSchedule made, const PipelineCosts& costs, ScheduleSettings settings,
                     std::string costs_text) {
  ScheduleAnswer result;
  result.schedule = std::move(made.schedule);
  result.peak_stash = std::move(made.proof.peak_stash);
  result.peak_weight_halves = std::move(made.proof.peak_weight_halves);
  result.settings = std::move(settings);
  result.settings.stages = result.schedule.stages;
  result.settings.micro_batches = result.schedule.micro_batches;
  result.settings.chunks = std::ranges::max(stages_held(result.schedule.rank_of_stage));
  result.costs = std::move(costs_text);
  result.timeline = simulate(result.schedule, costs);
  for (const auto& spans : result.timeline.rank) result.stash.push_back(stash_levels(spans));
  return result;
}

}  // namespace

ScheduleAnswer answer(const ScheduleSettings& settings) {
  check(settings);
  ProvedSchedule made = training_schedule(recipe_of(settings));
  const PipelineCosts costs = settings_costs(settings, made.schedule.ranks, made.schedule.stages);
  return timed(std::move(made), costs, settings, settings_costs_text(settings));
}

ScheduleAnswer answer_for(const std::string& name, const Schedule& schedule, bool recompute,
                          const PipelineCosts& costs, const std::string& costs_text) {
  ProvedSchedule made;
  made.schedule = lower(schedule, {.recompute = recompute, .update = true});
  made.proof = verify(made.schedule);
  return timed(std::move(made), costs, {.schedule = name}, costs_text);
}

PipelineCosts settings_costs(const ScheduleSettings& settings, int ranks, int stages) {
  check(settings);
  PipelineCosts costs;
  const double share = static_cast<double>(ranks) / stages;
  costs.stage.assign(static_cast<size_t>(stages), times_of(settings, share));
  costs.within_node.latency = settings.latency;
  return costs;
}

std::string settings_costs_text(const ScheduleSettings& settings) {
  return fmt::format("F,B,W = {:g},{:g},{:g}, latency {:g}", settings.forward,
                     settings.backward_input, settings.backward_weight, settings.latency);
}

std::string title(const ScheduleAnswer& answer) {
  const Schedule& schedule = answer.schedule;
  const int warm_up = answer.settings.warm_up;
  return answer.settings.schedule + ": ranks " + std::to_string(schedule.ranks) + ", stages " +
         std::to_string(schedule.stages) + ", micro-batches " +
         std::to_string(schedule.micro_batches) +
         (warm_up > 0 ? ", warm-up +" + std::to_string(warm_up) : "");
}

}  // namespace penstock
