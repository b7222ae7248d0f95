#include "runtime/records/sweep/record.h"

#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json point_json(const SweepPoint& point) {
  ordered_json made = {{"name", point.name},
                       {"stages", point.sizes.stages},
                       {"replicas", point.sizes.replicas},
                       {"chunks", point.sizes.chunks},
                       {"micro_batches", point.sizes.micro_batches},
                       {"micro_batch_size", point.sizes.micro_batch_size},
                       {"schedule", point.schedule},
                       {"recompute", point.recompute},
                       {"steps", point.steps},
                       {"group", point.group},
                       {"seed", point.seed},
                       {"keys", ordered_json::array()}};
  for (const VariedKey& key : point.keys) made["keys"].push_back({key.name, key.value});
  if (point.planned) {
    made["planned"] = {{"step_s", point.planned->step_s},
                       {"bubble", point.planned->bubble},
                       {"peak_bytes", point.planned->peak_bytes}};
  }
  if (point.dry_run) made["dry_run"] = true;
  if (!point.skipped.empty()) made["skipped"] = point.skipped;
  return made;
}

SweepPoint point_in(const json& from) {
  SweepPoint point{.name = from.at("name"),
                   .sizes = {.stages = from.at("stages"),
                             .replicas = from.at("replicas"),
                             .chunks = from.at("chunks"),
                             .micro_batches = from.at("micro_batches"),
                             .micro_batch_size = from.at("micro_batch_size")},
                   .schedule = from.at("schedule"),
                   .recompute = from.at("recompute"),
                   .steps = from.at("steps"),
                   .group = from.at("group"),
                   .seed = from.value("seed", uint64_t{1}),
                   .dry_run = from.value("dry_run", false),
                   .skipped = from.value("skipped", "")};
  if (point.sizes.chunks < 1 || point.name.find('/') != std::string::npos) {
    fail_data("no point has such chunks, or such a name");
  }
  // Sweeps of earlier versions have no keys.
  for (const json& key : from.value("keys", json::array())) {
    point.keys.push_back({.name = key.at(0), .value = key.at(1)});
  }
  if (from.contains("planned")) {
    const json& planned = from.at("planned");
    point.planned = {.step_s = planned.at("step_s"),
                     .bubble = planned.at("bubble"),
                     .peak_bytes = planned.at("peak_bytes")};
  }
  return point;
}

ordered_json plot_json(const PlotChoice& plot) {
  ordered_json made = {{"x", plot.x}, {"series", plot.series}, {"bars", word_of(plot.bars)}};
  if (plot.log_x) made["log_x"] = *plot.log_x;
  if (plot.log_y) made["log_y"] = *plot.log_y;
  return made;
}

PlotChoice plot_in(const json& from) {
  PlotChoice plot{.x = from.at("x"), .series = from.at("series")};
  for (const ErrorBars bars : {ErrorBars::Deviation, ErrorBars::None}) {
    if (from.at("bars") == word_of(bars)) plot.bars = bars;
  }
  if (from.contains("log_x")) plot.log_x = from.at("log_x").get<bool>();
  if (from.contains("log_y")) plot.log_y = from.at("log_y").get<bool>();
  return plot;
}

Scaling scaling_named(const std::string& word) {
  for (const Scaling known : {Scaling::Strong, Scaling::Weak, Scaling::AsGiven}) {
    if (word == word_of(known)) return known;
  }
  fail_data("there is no scaling " + quoted(word));
}

}  // namespace

std::string run_name(const SweepPoint& point, int repeat) {
  return repeat == 1 ? point.name : point.name + "-r" + std::to_string(repeat);
}

std::string run_directory(const std::string& sweep, const SweepPoint& point, int repeat) {
  return sweep + "/points/" + run_name(point, repeat);
}

int runs_of(const SweepRecord& record, const SweepPoint& point) {
  return point.skipped.empty() ? record.repeats : 1;
}

uint64_t seed_of(const SweepRecord& record, const SweepPoint& point, int repeat) {
  return point.seed + (record.varies_seed ? static_cast<uint64_t>(repeat - 1) : 0);
}

std::string record_json(const SweepRecord& record) {
  ordered_json made = {{"scaling", word_of(record.scaling)},
                       {"mini_batch", record.mini_batch},
                       {"warmup", record.warmup},
                       {"repeats", record.repeats},
                       {"varies_seed", record.varies_seed},
                       {"plot", plot_json(record.plot)},
                       {"points", ordered_json::array()}};
  for (const SweepPoint& point : record.points) made["points"].push_back(point_json(point));
  return shown_json(made, 1) + "\n";
}

SweepRecord parse_record(const std::string& text, const std::string& where) {
  const json document = parse_json(text, where);
  try {
    SweepRecord record{.scaling = scaling_named(document.at("scaling")),
                       .mini_batch = document.at("mini_batch"),
                       .warmup = document.at("warmup"),
                       .repeats = document.value("repeats", 1),
                       .varies_seed = document.value("varies_seed", false)};
    if (document.contains("plot")) record.plot = plot_in(document.at("plot"));
    if (record.repeats < 1) fail_data("no point has such repeats");
    for (const json& point : document.at("points")) record.points.push_back(point_in(point));
    return record;
  } catch (const std::exception& error) {
    fail_data(where + ": is not what penstock sweep wrote: " + error.what());
  }
}

}  // namespace penstock
