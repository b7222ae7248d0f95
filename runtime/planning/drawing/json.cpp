// runtime/planning/drawing/json.cpp -- see json.h.
#include "runtime/planning/drawing/json.h"

#include <nlohmann/json.hpp>

#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;  // keeps keys in the order in which they are added

Json programs_json(const Schedule& schedule) {
  Json programs = Json::array();
  for (const auto& program : schedule.program) {
    Json texts = Json::array();
    for (const Instruction& instruction : program) {
      if (is_compute(instruction.op)) texts.push_back(text(instruction));
    }
    programs.push_back(std::move(texts));
  }
  return programs;
}

Json timeline_json(const Timeline& timeline) {
  Json ranks = Json::array();
  for (const auto& spans : timeline.rank) {
    Json row = Json::array();
    for (const TimedInstruction& span : spans) {
      if (!is_compute(span.instruction.op)) continue;
      row.push_back({text(span.instruction), span.start, span.end});
    }
    ranks.push_back(std::move(row));
  }
  return ranks;
}

Json stash_json(const std::vector<std::vector<StashLevel>>& stash) {
  Json ranks = Json::array();
  for (const auto& levels : stash) {
    Json row = Json::array();
    for (const StashLevel& level : levels) row.push_back({level.time, level.held});
    ranks.push_back(std::move(row));
  }
  return ranks;
}

}  // namespace

std::string settings_json(const ScheduleSettings& settings) {
  return Json{{"schedule", settings.schedule},
              {"csv", settings.csv},
              {"stages", settings.stages},
              {"micro_batches", settings.micro_batches},
              {"chunks", settings.chunks},
              {"warm_up", settings.warm_up},
              {"recompute", settings.recompute},
              {"times", {settings.forward, settings.backward_input, settings.backward_weight}},
              {"latency", settings.latency}}
      .dump();
}

std::string answer_json(const ScheduleAnswer& answer) {
  Json json;
  json["ranks"] = answer.schedule.ranks;
  json["stages"] = answer.schedule.stages;
  json["micro_batches"] = answer.schedule.micro_batches;
  json["programs"] = programs_json(answer.schedule);
  json["makespan"] = makespan(answer.timeline);
  json["makespan_bubble"] = makespan_bubble(answer.timeline);
  json["span_bubble"] = span_bubble(answer.timeline);
  json["peak_stash"] = answer.peak_stash;
  json["peak_weight_halves"] = answer.peak_weight_halves;
  json["rank_of_stage"] = answer.schedule.rank_of_stage;
  json["timeline"] = timeline_json(answer.timeline);
  json["stash"] = stash_json(answer.stash);
  return json.dump();
}

std::string schedules_json() {
  Json schedules = Json::array();
  for (const KnownSchedule& known : known_schedules()) {
    schedules.push_back({{"name", known.name},
                         {"chunks", known.chunks},
                         {"chunks_vary", known.any_chunks},
                         {"about", known.about}});
  }
  return schedules.dump();
}

}  // namespace penstock
