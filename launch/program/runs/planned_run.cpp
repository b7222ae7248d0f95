// launch/program/runs/planned_run.cpp -- see planned_run.h.
#include "launch/program/runs/planned_run.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "kernels/device_model.h"
#include "launch/program/planning/files/devices_file.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/processor/rank_speeds.h"
#include "launch/program/runs/searched_schedule.h"
#include "launch/program/setup.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

std::string describe(const PipelineConfig& chosen, const Prediction& prediction,
                     const std::string& basis) {
  return fmt::format(
      "planned: {} x {}, {} of {}, schedule {}, recompute {}, placement {}, layers {}: {:.4g} "
      "ms a step predicted ({})",
      amount_text(chosen.stages, "stage"), amount_text(chosen.replicas, "replica"),
      amount_text(chosen.micro_batches, "micro-batch", "es"), chosen.micro_batch_size,
      chosen.schedule, recompute_text(chosen), chosen.placement, fmt::join(chosen.split, ","),
      1e3 * prediction.step.mean_s, basis);
}

bool is_searched(const Config& config) {
  return config.pipeline.schedule == kSearched;
}

// Plans the run. Only rank 0 has a planner.
class Planner {
 public:
  Planner(const Session& session, const Settings& settings, const ModelMaker& models,
          const DataFacts& facts, const Devices& devices, int64_t rank_bytes)
      : config_(settings.config),
        model_(std::make_shared<Sequential>(
            models.build(config_.model, facts.vocabulary, facts.classes))),
        input_(models.input(config_.model)),
        run_cluster_(cluster_of_run(config_.run, devices, session.local_ranks())),
        basis_(devices.basis) {
    run_cluster_.memory_bytes = rank_bytes;
    Cluster cluster = cluster_of(devices, session.local_ranks());
    // The memory limits only automatic plans, and ranks of which pipeline.devices says it. Settings
    // of the user are not refused: if memory is short, the forecast warns.
    cluster.memory_bytes = config_.pipeline.automatic ? rank_bytes : 0;
    request_ = plan_request(config_, session.ranks(), cluster,
                            costs_by_cut(config_, model_, input_, devices));
    request_.wanted = 1;
    if (config_.pipeline.automatic) {
      pin_what_was_asked_for(settings, request_);
    } else {
      pin_whole_pipeline(config_.pipeline, request_);
    }
  }

  // Chooses the whole pipeline or, where it is not automatic, the split alone.
  [[nodiscard]] PlannedRun run() const {
    const Plan found = plan(request_);
    const PlannedCandidate* best = found.best();
    if (best == nullptr) {
      const std::string why =
          found.candidates.empty() ? "there is no way to do it" : found.candidates[0].reason;
      fail_input(fmt::format("{}: nothing fits {}: {}",
                             config_.pipeline.automatic         ? "pipeline.auto"
                             : config_.pipeline.devices.empty() ? "pipeline.profile"
                                                                : "pipeline.devices",
                             amount_text(request_.ranks, "rank"), why));
    }
    PlannedRun result{.config = config_};
    PipelineConfig& pipeline = result.config.pipeline;
    if (!pipeline.automatic && is_searched(config_)) {  // its note comes with the schedule
      pipeline.split.assign(best->candidate.split.begin(), best->candidate.split.end());
      return result;
    }
    apply(best->candidate, pipeline);
    result.notes.push_back(describe(pipeline, best->prediction, basis_));
    pipeline.automatic = false;
    return result;
  }

  // Searches the schedule of a run that has all else.
  void search(PlannedRun& run, const std::string& kept_in) const {
    const SearchedRun searched = searched_run(run.config, *model_, input_, request_.costs);
    SearchedSchedule schedule = searched_schedule(searched, run_cluster_, kept_in);
    run.config.pipeline.schedule_csv = std::move(schedule.csv);
    run.certificate = std::move(schedule.certificate);
    run.notes.push_back(std::move(schedule.note));
  }

 private:
  Config config_;
  std::shared_ptr<const Sequential> model_;
  ModelInput input_;
  Cluster run_cluster_;  // with the memory of a rank
  PlanRequest request_;
  std::string basis_;
};

}  // namespace

void pin_what_was_asked_for(const Settings& settings, PlanRequest& plan) {
  const PipelineConfig& pipeline = settings.config.pipeline;
  const auto asked = [&](const char* key) {
    return settings.on_command_line(std::string("pipeline.") + key);
  };
  if (asked("stages")) plan.stages = pipeline.stages;
  if (asked("replicas")) plan.replicas = pipeline.replicas;
  if (asked("chunks") && pipeline.chunks > 0) plan.chunks = pipeline.chunks;
  if (asked("stage_ranks")) {
    plan.stage_ranks = {pipeline.stage_ranks.begin(), pipeline.stage_ranks.end()};
  }
  if (asked("micro_batches")) plan.micro_batches = pipeline.micro_batches;
  if (asked("micro_batch_size")) plan.micro_batch_size = pipeline.micro_batch_size;
  if (asked("schedule")) {
    if (!pipeline.schedule_csv.empty()) {
      fail_input(
          fmt::format("{} cannot be planned for: a plan takes schedules by name, and runs "
                      "without pipeline.auto take files",
                      pipeline.schedule));
    }
    plan.schedule = pipeline.schedule;
  }
  if (asked("warm_up")) plan.warm_up = pipeline.warm_up;
  if (asked("recompute")) plan.recompute = pipeline.recompute;
  if (asked("kept_stages")) {
    plan.kept_stages = {pipeline.kept_stages.begin(), pipeline.kept_stages.end()};
  }
  if (asked("placement")) plan.placement = pipeline.placement;
  if (asked("split")) plan.split.assign(pipeline.split.begin(), pipeline.split.end());
}

namespace {

// Measures the ranks where pipeline.devices asks for it; otherwise returns nothing. Collective.
std::vector<double> rates_asked_for(Collective& world, const Config& config,
                                    const DeviceModel& device) {
  if (config.pipeline.devices != kMeasuredDevices) return {};
  const char* why = config.run.dry_run  ? "a dry run computes nothing"
                    : device.own_memory ? "accelerators are not measured"
                                        : nullptr;
  if (why != nullptr) {
    on_every_rank([&] {
      fail_input(fmt::format(
          "pipeline.devices = \"measured\" times the processors of the ranks, and {}: name a file "
          "that says which rank has what (docs/planning.md)",
          why));
    });
  }
  return measured_rates(world, config.run.threads, config.run.precision);
}

// What the ranks of a run compute on, with a line for the user. `rates`: where they were measured.
Devices devices_with_note(const Config& config, const std::vector<double>& rates, int ranks,
                          const DeviceKind& usual, std::vector<std::string>& notes) {
  const std::string& profile = config.pipeline.profile;
  Devices devices = rates.empty() ? devices_of_run(config, ranks, usual, profile)
                                  : devices_of_rates(rates, usual, profile);
  std::string note = devices_text(devices);
  if (!rates.empty()) {
    note = note.empty() ? "devices: all ranks are as fast as one another, within 5 % (measured)"
                        : note + " (measured)";
  }
  if (!note.empty()) notes.push_back(std::move(note));
  return devices;
}

}  // namespace

PlannedRun planned_run(const Session& session, Collective& world, const Settings& settings,
                       const Config& config, const DeviceModel& device, int64_t rank_bytes,
                       const ModelMaker& models, const std::string& kept_in) {
  PlannedRun result{.config = config};
  const PipelineConfig& pipeline = config.pipeline;
  const bool has_times = !pipeline.profile.empty() || !pipeline.devices.empty();
  const bool splits = has_times && pipeline.split.empty() && pipeline.schedule_csv.empty();
  if (session.rank() == 0) result.devices = like_devices(device);
  if (!pipeline.automatic && !has_times && !is_searched(config)) return result;
  if (!pipeline.automatic) {
    (void)grid_of(config, session.ranks(), session.started_by());  // refuses other numbers of ranks
  }
  const std::vector<double> rates = rates_asked_for(world, config, device);
  const DataSource source(config, models, world);
  Config settled = share(world, [&] {
    DeviceKind usual{.model = device};
    if (!pipeline.profile.empty()) {
      usual.profile = read_profile(pipeline.profile);
      check_precision(*usual.profile, pipeline.profile, config.run.precision);
    }
    result.devices = devices_with_note(config, rates, session.ranks(), usual, result.notes);
    const bool plans = pipeline.automatic || splits;
    if (!plans && !is_searched(config)) return config;
    Settings here = settings;
    here.config = config;
    try {
      const Planner planner(session, here, models, source.facts(), *result.devices, rank_bytes);
      PlannedRun planned = plans ? planner.run() : PlannedRun{.config = config};
      if (is_searched(planned.config)) planner.search(planned, kept_in);
      result.notes.insert(result.notes.end(), planned.notes.begin(), planned.notes.end());
      result.certificate = std::move(planned.certificate);
      return planned.config;
    } catch (const std::invalid_argument& refusal) {
      fail_input(refusal.what());
    }
  });
  // share() carries only the members that a run file has, so the other members are set again.
  settled.data.spare_cores = config.data.spare_cores;
  settled.data.cut_threads = config.data.cut_threads;
  settled.data.cache_folder = config.data.cache_folder;
  result.config = std::move(settled);
  return result;
}

}  // namespace penstock
