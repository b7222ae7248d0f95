#include "launch/program/sweep/point_forecast.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "kernels/error.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/planning/files/devices_file.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/program/runs/planned_run.h"
#include "launch/program/start/processor_time.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/blueprint/searched_run.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"

namespace penstock {

PointForecaster::PointForecaster(const SweepFile& sweep, const ModelMaker& models)
    : sweep_(sweep), models_(models) {
  const DeviceModel device = device_model_named(sweep.device);
  memory_bytes_ =
      sweep.memory.empty() ? usual_cluster(device).memory_bytes : parse_bytes(sweep.memory);
}

const Profile* PointForecaster::profile_of(const Config& config) {
  const std::string& path = config.pipeline.profile;
  if (path.empty()) return nullptr;
  auto known = profiles_.find(path);
  if (known == profiles_.end()) known = profiles_.emplace(path, read_profile(path)).first;
  check_precision(known->second, path, config.run.precision);
  return &known->second;
}

// The model of the device; where the number of threads is left open, the ranks share the host's.
DeviceModel PointForecaster::device_for(const Config& config, const Profile* profile, int ranks) {
  int threads = config.run.threads;
  if (threads == 0 && profile != nullptr) threads = profile->threads;
  if (threads == 0 && !sweep_.batch) {
    const int here = sweep_.ranks_per_node > 0 ? std::min(ranks, sweep_.ranks_per_node) : ranks;
    threads = usable_processors() / here;
  }
  threads = std::max(1, threads);
  const bool measures = sweep_.device == "cpu" && config.run.measure_processor;
  return device_model_named(sweep_.device, threads,
                            measures ? speed_for(ranks, threads) : ProcessorSpeed{});
}

const ProcessorSpeed& PointForecaster::speed_for(int ranks, int threads) {
  const auto known = speeds_.find({ranks, threads});
  if (known != speeds_.end()) return known->second;
  return speeds_.emplace(std::pair(ranks, threads), speed_for_ranks(ranks, threads)).first->second;
}

// The configuration with the split that a run with times of its own settles when it starts.
Config PointForecaster::with_planned_split(const Config& config, int ranks,
                                           const Devices& devices) const {
  const auto model = std::make_shared<Sequential>(
      models_.build(config.model, known_vocabulary(config.data), config.model.classes));
  Cluster cluster = cluster_of(devices, sweep_.ranks_per_node);
  cluster.memory_bytes = 0;
  PlanRequest request = plan_request(
      config, ranks, cluster, costs_by_cut(config, model, models_.input(config.model), devices));
  request.wanted = 1;
  pin_whole_pipeline(config.pipeline, request);
  const Plan found = plan(request);
  if (found.best() == nullptr) fail_input(found.candidates.at(0).reason);
  Config planned = config;
  const std::vector<int>& split = found.best()->candidate.split;
  planned.pipeline.split.assign(split.begin(), split.end());
  return planned;
}

// Adds the schedule that the run will search when it starts.
void PointForecaster::search_schedule(Config& config, const Devices& devices) const {
  const auto model = std::make_shared<Sequential>(
      models_.build(config.model, known_vocabulary(config.data), config.model.classes));
  const ModelInput input = models_.input(config.model);
  const SearchedRun run =
      searched_run(config, *model, input, costs_by_cut(config, model, input, devices));
  Cluster cluster = cluster_of_run(config.run, devices, sweep_.ranks_per_node);
  cluster.memory_bytes = memory_bytes_;
  config.pipeline.schedule_csv =
      searched_step(run.candidate, run.costs, cluster, kRunEffort).candidate.csv;
}

void PointForecaster::forecast_into(const Config& config, SweepPoint& point) {
  const Profile* profile = profile_of(config);
  const int ranks = point.sizes.ranks();
  DeviceKind usual{.model = device_for(config, profile, ranks)};
  if (profile != nullptr) usual.profile = *profile;
  try {
    const Devices devices = devices_of_run(config, ranks, usual, config.pipeline.profile);
    const bool has_times = profile != nullptr || !config.pipeline.devices.empty();
    const bool splits =
        has_times && config.pipeline.split.empty() && config.pipeline.schedule_csv.empty();
    Config settled = splits ? with_planned_split(config, ranks, devices) : config;
    if (settled.pipeline.schedule == kSearched) search_schedule(settled, devices);
    const Blueprint blueprint =
        draw_up(settled, models_, known_vocabulary(settled.data), settled.model.classes);
    const Forecast forecast =
        penstock::forecast(settled, blueprint, devices, sweep_.ranks_per_node);
    const Prediction& prediction = forecast.prediction;
    Cluster cluster = cluster_of(devices, sweep_.ranks_per_node);
    cluster.memory_bytes = memory_bytes_;
    point.skipped = lack_of_memory(
        prediction.memory,
        memory_limits(arrangement_of_run(settled, blueprint.layout.split()), cluster));
    point.planned = {.step_s = prediction.step.mean_s,
                     .bubble = prediction.bubble,
                     .peak_bytes = prediction.fullest_bytes()};
  } catch (const Error& refusal) {
    point.skipped = refusal.what();
  } catch (const std::invalid_argument& refusal) {  // of the pure rooms
    point.skipped = one_line(refusal.what());
  }
}

}  // namespace penstock
