#include "launch/program/sweep/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "kernels/error.h"
#include "launch/program/options/readers.h"
#include "launch/program/options/run_file.h"
#include "launch/program/options/settings.h"
#include "launch/program/sweep/check_plot.h"
#include "launch/program/sweep/launch_words.h"
#include "launch/program/sweep/point_forecast.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr size_t kMostPoints = 4096;

Settings base_of(const SweepFile& sweep) {
  Settings settings;
  read_run_file(sweep.run, settings);
  for (const SetKey& key : sweep.set) assign(settings, *key.option, key.value, key.origin);
  if (sweep.says("run.steps")) settings.config.run.epochs = 0;
  if (settings.config.run.epochs > 0) {
    fail_input(fmt::format(
        "{}: 'run.epochs' is not for a sweep: give run.steps in [set], which says how long all "
        "points are",
        settings.place_of("run.epochs")));
  }
  if (settings.config.run.patience > 0 || sweep.varies("run.patience")) {
    fail_input(fmt::format(
        "{}: 'run.patience' is not for a sweep, whose points take all their steps: give "
        "run.patience = 0 in [set]",
        settings.place_of("run.patience")));
  }
  if (settings.config.run.dry_run) {
    fail_input(settings.place_of("run.dry_run") +
               ": 'run.dry_run' is for [set] of a sweep, whose points it does not become part of");
  }
  settings.config.run.overwrite = false;  // points go on where they were stopped
  return settings;
}

// `text` as a part of a name, of letters, digits, '.', '-' and '_' alone.
std::string name_part(std::string text) {
  constexpr size_t kLongest = 40;
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return text.substr(0, kLongest);
}

std::string schedule_part(const std::string& schedule) {
  return name_part(schedule.ends_with(".csv") ? std::filesystem::path(schedule).stem().string()
                                              : schedule);
}

class PointDrawer {
 public:
  PointDrawer(const SweepFile& sweep, const ModelMaker& models)
      : sweep_(sweep), models_(models), base_(base_of(sweep)), forecaster_(sweep, models) {
    Settings whole = base_;
    complete(whole);
    if (whole.config.pipeline.automatic) {
      fail_input(whole.place_of("pipeline.auto") +
                 ": 'pipeline.auto' chooses what a sweep varies: switch it off in [set]");
    }
    const PipelineConfig& pipeline = whole.config.pipeline;
    rules_ = {.scaling = sweep.scaling,
              .mini_batch = sweep.mini_batch > 0
                                ? sweep.mini_batch
                                : int64_t{pipeline.replicas} * pipeline.micro_batches *
                                      pipeline.micro_batch_size,
              .stages = sweep.varies("pipeline.stages"),
              .replicas = sweep.varies("pipeline.replicas"),
              .micro_batches = sweep.varies("pipeline.micro_batches"),
              .micro_batch_size = sweep.varies("pipeline.micro_batch_size")};
    drawn_.record = {.scaling = sweep.scaling,
                     .mini_batch = rules_.mini_batch,
                     .warmup = sweep.warmup,
                     .repeats = sweep.repeats,
                     .varies_seed = sweep.varies_seed,
                     .plot = sweep.plot};
    if (sweep.varies_seed && sweep.varies("run.seed")) {
      fail_input(fmt::format(
          "{}: 'run.seed' is in the grid, and sweep.seeds = \"varied\" sets it for each repeat: "
          "give one of the two",
          sweep.place_of("run.seed")));
    }
    look_at_network(whole.config);
    if (!whole.config.run.out.empty()) {
      drawn_.notes.push_back(base_.place_of("run.out") +
                             ": 'run.out' is not followed: each run is in the sweep's directory");
    }
    if (whole.config.run.threads == 0 && !sweep.varies("run.threads")) {
      drawn_.notes.emplace_back(
          "run.threads is left open: points of few ranks compute with more threads a rank; set it, "
          "to compare ranks with ranks");
    }
  }

  DrawnSweep draw() {
    std::vector<size_t> sizes;
    for (const GridKey& key : sweep_.grid) sizes.push_back(key.values.size());
    double all = static_cast<double>(std::max<size_t>(1, sweep_.ranks.size()));
    for (const size_t size : sizes) all *= static_cast<double>(size);
    if (all > kMostPoints) {
      fail_input(fmt::format("{}: the grid and sweep.ranks have {:.0f} combinations, more than {}",
                             sweep_.path.string(), all, kMostPoints));
    }
    int64_t left_out = 0;
    for (const std::vector<size_t>& choice : combinations(sizes)) {
      bool is_pipeline = sweep_.ranks.empty();
      if (is_pipeline) (void)draw_point(choice, std::nullopt);
      for (const int ranks : sweep_.ranks) is_pipeline |= draw_point(choice, ranks);
      left_out += is_pipeline ? 0 : 1;
    }
    if (left_out > 0) {
      drawn_.notes.push_back(
          fmt::format("no pipeline on any of sweep.ranks, and so left out: {} of the grid",
                      amount_text(left_out, "combination")));
    }
    note_short_points();
    if (drawn_.record.points.empty()) {
      fail_input(sweep_.path.string() +
                 ": no combination of the grid is a pipeline on one of sweep.ranks");
    }
    check_plot(sweep_, drawn_.record);
    return std::move(drawn_);
  }

 private:
  // The rule is that of steady_times() (outcome.h), which measures half of the steps at least.
  void note_short_points() {
    for (const SweepPoint& point : drawn_.record.points) {
      const int64_t left_out = point.steps / 2;
      if (sweep_.warmup <= left_out) continue;
      return drawn_.notes.push_back(fmt::format(
          "{} takes {}, of which {} are left out of the measurement and not sweep.warmup = {}: "
          "what is measured is in part the warm-up; give run.steps = {} or more",
          point.name, amount_text(point.steps, "step"), left_out, sweep_.warmup,
          2 * sweep_.warmup));
    }
  }

  // Builds the network; where it cannot be built, there is nothing to forecast from.
  void look_at_network(const Config& config) {
    try {
      (void)models_.build(config.model, known_vocabulary(config.data), config.model.classes);
    } catch (const Error& error) {
      forecasts_ = false;
      drawn_.notes.push_back(fmt::format(
          "nothing is planned, as the run file does not say all of the network: {}", error.what()));
    }
  }

  // Adds the point of this combination of the grid, on that many ranks where sweep.ranks says any.
  // Returns false, and adds nothing, where it is no pipeline on them.
  bool draw_point(const std::vector<size_t>& choice, std::optional<int> ranks) {
    Settings settings = base_;
    for (size_t i = 0; i < sweep_.grid.size(); ++i) {
      const GridKey& key = sweep_.grid[i];
      assign(settings, *key.option, key.values[choice[i]], key.origin);
    }
    PipelineConfig& pipeline = settings.config.pipeline;
    SweepPoint point{.sizes = {.stages = pipeline.stages,
                               .replicas = pipeline.replicas,
                               .micro_batches = pipeline.micro_batches,
                               .micro_batch_size = pipeline.micro_batch_size},
                     .schedule = pipeline.schedule,
                     .recompute = recompute_text(pipeline),
                     .steps = settings.config.run.steps,
                     .seed = settings.config.run.seed,
                     .dry_run = sweep_.dry_run};
    settle_chunks(settings, point);
    if (ranks && !fit_ranks(*ranks, rules_, point.sizes)) return false;
    if (point.skipped.empty()) point.skipped = fit_mini_batch(rules_, point.sizes);
    name_point(choice, point);
    if (point.skipped.empty()) settle(settings, point);
    add(std::move(point), std::move(settings.config));
    return true;
  }

  static void settle_chunks(Settings& settings, SweepPoint& point) {
    PointSizes& sizes = point.sizes;
    Settings here = settings;
    try {
      complete(here, DataRead::Nothing);  // reads a schedule's file
      if (!listed_placement(here.config.pipeline).empty()) {
        point.skipped =
            "a sweep takes equally many stages on every rank, and here the rank of each "
            "stage is said, by pipeline.stage_ranks or a CSV file";
        return;
      }
      sizes.chunks = stages_per_rank(here.config.pipeline);
    } catch (const std::exception&) {
      return;  // what is wrong is found, and said, when all is settled
    }
    if (sizes.stages % sizes.chunks != 0) {
      point.skipped = fmt::format("{} cannot be {} on each rank",
                                  amount_text(sizes.stages, "stage"), sizes.chunks);
    }
  }

  void settle(Settings& settings, SweepPoint& point) {
    const auto set = [&](const char* name, int64_t value) {
      assign(settings, *find_option(name), value, sweep_.path.string());
    };
    try {
      set("pipeline.stages", point.sizes.stages);
      set("pipeline.replicas", point.sizes.replicas);
      set("pipeline.micro_batches", point.sizes.micro_batches);
      set("pipeline.micro_batch_size", point.sizes.micro_batch_size);
      settings.config.pipeline.mini_batch = 0;
      complete(settings);
      check_read(settings);
      point.schedule = settings.config.pipeline.schedule;
      if (sweep_.batch && !nodes_of(sweep_, point)) {
        point.skipped =
            fmt::format("{} cannot be equally many on nodes of {}",
                        amount_text(point.sizes.ranks(), "rank"), sweep_.ranks_per_node);
        return;
      }
      if (forecasts_) forecaster_.forecast_into(settings.config, point);
    } catch (const Error& error) {
      point.skipped = error.what();
    }
  }

  // Names the point by its sizes, its schedule and what else the grid varies.
  void name_point(const std::vector<size_t>& choice, SweepPoint& point) const {
    const PointSizes& sizes = point.sizes;
    point.name = fmt::format("k{}-d{}-m{}-{}", sizes.stages, sizes.replicas, sizes.micro_batches,
                             schedule_part(point.schedule));
    for (size_t i = 0; i < sweep_.grid.size(); ++i) {
      const Option& option = *sweep_.grid[i].option;
      const std::string value = text_of(sweep_.grid[i].values[choice[i]]);
      point.keys.push_back({.name = option.name(), .value = value});
      const bool is_pipeline = option.section == "pipeline";
      const bool is_named = option.key == "stages" || option.key == "replicas" ||
                            option.key == "micro_batches" || option.key == "schedule";
      if (is_pipeline && is_named) continue;
      point.name += fmt::format("-{}-{}", name_part(option.key), name_part(value));
      if (is_pipeline) continue;
      point.group += fmt::format("{}{} {}", point.group.empty() ? "" : ", ", option.name(), value);
    }
  }

  // Whether another point has a run of the same name.
  [[nodiscard]] bool is_taken(const SweepPoint& point) const {
    for (int repeat = 1; repeat <= sweep_.repeats; ++repeat) {
      if (names_.contains(run_name(point, repeat))) return true;
    }
    return false;
  }

  void add(SweepPoint point, Config config) {
    SweepRecord& record = drawn_.record;
    const std::string text = write_run_file(config);
    const std::string name = point.name;
    for (int copy = 2; is_taken(point); ++copy) {
      // Combinations may come to the same run.
      if (texts_.contains(text)) return;
      point.name = fmt::format("{}-{}", name, copy);
    }
    for (int repeat = 1; repeat <= sweep_.repeats; ++repeat) names_.insert(run_name(point, repeat));
    texts_.insert(text);
    record.points.push_back(std::move(point));
    drawn_.configs.push_back(std::move(config));
  }

  const SweepFile& sweep_;
  const ModelMaker& models_;
  Settings base_;
  PointForecaster forecaster_;
  SizeRules rules_ = {};
  bool forecasts_ = true;
  std::set<std::string> names_ = {}, texts_ = {};
  DrawnSweep drawn_ = {};
};

}  // namespace

Config config_of_run(const DrawnSweep& sweep, size_t point, int repeat) {
  Config config = sweep.configs[point];
  config.run.seed = seed_of(sweep.record, sweep.record.points[point], repeat);
  return config;
}

DrawnSweep draw_sweep(const SweepFile& sweep, const ModelMaker& models) {
  return PointDrawer(sweep, models).draw();
}

}  // namespace penstock
