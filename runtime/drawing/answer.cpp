// runtime/drawing/answer.cpp -- see answer.h.
#include "runtime/drawing/answer.h"

#include <cmath>
#include <stdexcept>

#include "runtime/schedule/costs.h"
#include "runtime/schedule/csv.h"
#include "runtime/schedule/generators.h"
#include "runtime/schedule/lower.h"
#include "runtime/schedule/simulate.h"
#include "runtime/schedule/verify.h"

namespace penstock {
namespace {

void check(const ScheduleSettings& settings) {
  const auto& mode = settings.recompute;
  if (mode != "none" && mode != "stage" && mode != "layer") {
    throw std::invalid_argument("--recompute must be none, stage or layer, not " + mode);
  }
  for (const double time : {settings.forward, settings.backward_input, settings.backward_weight}) {
    if (!(time >= 0) || !std::isfinite(time)) {
      throw std::invalid_argument("--times must be three numbers F,B,W of at least 0");
    }
  }
  if (!(settings.latency >= 0) || !std::isfinite(settings.latency)) {
    throw std::invalid_argument("--latency must be a number of at least 0");
  }
}

Schedule generate(const ScheduleSettings& settings) {
  if (!settings.csv.empty()) return parse_csv(settings.csv, settings.schedule);
  const int chunks = settings.chunks > 0 ? settings.chunks : default_chunks(settings.schedule);
  if (settings.stages < 1 || settings.stages % chunks != 0) {
    throw std::invalid_argument("--stages must be a multiple of the " + std::to_string(chunks) +
                                " stages that a rank holds with " + settings.schedule + ", not " +
                                std::to_string(settings.stages));
  }
  return make_schedule(settings.schedule, settings.stages / chunks, settings.micro_batches,
                       settings.chunks);
}

PipelineCosts costs_of(const ScheduleSettings& settings, const Schedule& schedule) {
  const double share = static_cast<double>(schedule.ranks) / schedule.stages;
  const StageTimes times{.forward = settings.forward * share,
                         .recompute = settings.forward * share,
                         .backward_input = settings.backward_input * share,
                         .backward_weight = settings.backward_weight * share,
                         .backward = (settings.backward_input + settings.backward_weight) * share};
  PipelineCosts costs;
  costs.stage.assign(static_cast<size_t>(schedule.stages), times);
  costs.within_node.latency = settings.latency;
  return costs;
}

// As verify() counts: a Forward stashes, the backward of the input gives it back.
std::vector<StashLevel> stash_levels(const std::vector<TimedInstruction>& spans) {
  std::vector<StashLevel> levels = {{0, 0}};
  int held = 0;
  for (const TimedInstruction& span : spans) {
    const Op op = span.instruction.op;
    if (op == Op::Forward) {
      levels.push_back({span.end, ++held});
    } else if (op == Op::Backward || op == Op::BackwardInput) {
      levels.push_back({span.end, --held});
    }
  }
  return levels;
}

}  // namespace

ScheduleAnswer answer(const ScheduleSettings& settings) {
  check(settings);
  ScheduleAnswer result;
  result.schedule = lower(generate(settings), {.recompute = settings.recompute != "none",
                                               .keep_adjacent = settings.recompute == "stage",
                                               .update = true});
  result.settings = settings;
  result.settings.stages = result.schedule.stages;
  result.settings.micro_batches = result.schedule.micro_batches;
  result.settings.chunks = result.schedule.stages / result.schedule.ranks;
  result.peak_stash = verify(result.schedule).peak_stash;
  result.timeline = simulate(result.schedule, costs_of(settings, result.schedule));
  for (const auto& spans : result.timeline.rank) result.stash.push_back(stash_levels(spans));
  return result;
}

std::string title(const ScheduleAnswer& answer) {
  const Schedule& schedule = answer.schedule;
  return answer.settings.schedule + ": ranks " + std::to_string(schedule.ranks) + ", stages " +
         std::to_string(schedule.stages) + ", micro-batches " +
         std::to_string(schedule.micro_batches);
}

}  // namespace penstock
