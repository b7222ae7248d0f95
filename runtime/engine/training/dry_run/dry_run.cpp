#include "runtime/engine/training/dry_run/dry_run.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/measurements/outlook.h"
#include "runtime/engine/training/dry_run/pace.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

// The memory of the fullest rank, with a warning where the real device, or where ranks are unlike
// that of some rank, has less.
std::string memory_line(const Forecast& ahead, const Devices& devices) {
  constexpr const char* kCure = ": use more stages, smaller micro-batches or --recompute stage";
  const Prediction& prediction = ahead.prediction;
  const int64_t fullest = prediction.fullest_bytes();
  std::string line = "memory: " + bytes_text(fullest) + " on the fullest rank (rank " +
                     std::to_string(prediction.fullest_rank()) + " of a pipeline)";
  if (!ahead.lacks.empty()) return "warning: " + line + "; the run " + ahead.lacks + kCure;
  if (!devices.kind_of_rank.empty()) return line;
  const int64_t there = devices.kinds.front().model.memory_bytes;
  if (fullest <= there) return line + " of " + bytes_text(there);
  return "warning: " + line + ", and there are " + bytes_text(there) + kCure;
}

}  // namespace

DryRun::DryRun(const DryRunOrder& order, const Station& station, VirtualDevice& device)
    : config_(order.config),
      device_(device),
      network_(station.network, station.grid,
               cluster_of_run(config_.run, devices(order), station.session.local_ranks()),
               device.clock()),
      station_{station.session, network_, station.grid, device},
      say_(order.say),
      source_(config_, order.models, network_.world()),
      blueprint_(on_every_rank([&] {
        return draw_up(config_, order.models, source_.facts().vocabulary, source_.facts().classes);
      })),
      forecast_(look_ahead(order)),
      predicted_ms_(forecast_ ? 1e3 * forecast_->prediction.step.plain_s : 0.0),
      pipeline_(config_, blueprint_, station.grid, network_, device),
      report_(config_, station_, pipeline_, std::move(forecast_)),
      recorder_(config_.run.trace, 1, config_.run.steps,
                [&device] { return device.clock().now(); }) {
  step_.emplace(config_, pipeline_, station_);
  source_.open(pipeline_.reads().fields);
  batches_.emplace(DataPart::Training, config_, source_, pipeline_, station_, 0);
  set_pace(order);
  device.memory().reset_peaks();
}

void DryRun::say(const std::string& line) const {
  if (say_ && station_.session.rank() == 0) say_(line);
}

Devices DryRun::devices(const DryRunOrder& order) const {
  return order.devices != nullptr ? *order.devices : like_devices(device_.model());
}

std::optional<Forecast> DryRun::look_ahead(const DryRunOrder& order) const {
  if (order.drawn_up) order.drawn_up(blueprint_);
  if (station_.session.rank() != 0) return std::nullopt;
  const Devices modelled = devices(order);
  Forecast ahead = forecast(config_, blueprint_, modelled, station_.session.local_ranks());
  say(headline(config_, blueprint_.layout, station_.network, station_.device));
  if (!source_.note().empty()) say(source_.note());
  say("predicted: " + milliseconds_text(1e3 * ahead.prediction.step.plain_s) + " a step, bubble " +
      percent_text(ahead.prediction.bubble) + " (" + ahead.basis + ")");
  say(memory_line(ahead, modelled));
  return ahead;
}

// Sets the device's pace. Rank 0, which knows what all ranks stand for, tells each rank's kind and
// the factors of all kinds.
void DryRun::set_pace(const DryRunOrder& order) {
  const PipelineConfig& pipeline = config_.pipeline;
  if (pipeline.profile.empty() && pipeline.devices.empty()) return;
  Collective& world = station_.network.world();
  std::vector<double> kinds(static_cast<size_t>(station_.session.ranks()) + 1, 0.0);
  std::vector<double> factors;
  agree(world, "", [&] {
    if (station_.session.rank() != 0) return;
    const Devices modelled = devices(order);
    const std::vector<int>& kind_of_rank = modelled.kind_of_rank;
    std::ranges::copy(kind_of_rank, kinds.begin());
    kinds.back() = static_cast<double>(modelled.kinds.size());
    for (const DeviceKind& kind : modelled.kinds) {
      const std::vector<double> more = paces(config_, blueprint_, device_.model(), kind);
      factors.insert(factors.end(), more.begin(), more.end());
    }
  });
  world.broadcast({kinds.data(), kinds.size()}, 0);
  const size_t each = pace_size(blueprint_.layout.stages);
  factors.resize(each * static_cast<size_t>(kinds.back()), 1.0);
  world.broadcast({factors.data(), factors.size()}, 0);
  const int rank = station_.session.rank();
  const auto own =
      factors.begin() +
      static_cast<std::ptrdiff_t>(each * static_cast<size_t>(kinds[static_cast<size_t>(rank)]));
  device_.set_pace(pace_by_section(blueprint_.programs.training, station_.grid.position_of(rank),
                                   {own, own + static_cast<std::ptrdiff_t>(each)}));
}

std::span<const Batch> DryRun::next_batches(int64_t step) {
  const ActivityScope reading(station_.network.activity_log(),
                              {.activity = Activity::Data, .step = step});
  return batches_->next();
}

void DryRun::take_step(int64_t number) {
  recorder_.begin_step(number, pipeline_.training(), station_.network.world());
  const double start_s = device_.clock().now();
  report_.begin_step();
  step_->begin(number, next_batches(number));
  const StepRecord record = step_->run();
  (void)step_->take_settled();
  const double step_ms = 1e3 * (device_.clock().now() - start_s);
  report_.end_step({step_ms, source_.mini_batch_tokens(), record.loss_tokens},
                   pipeline_.training());
  recorder_.end_step(number, pipeline_.training());
  say("dry run, step " + std::to_string(number) + " of " + std::to_string(config_.run.steps) +
      ": " + milliseconds_text(step_ms) + ", predicted " + milliseconds_text(predicted_ms_));
}

RunSummary DryRun::to_the_end() {
  for (int64_t number = 1; number <= config_.run.steps; ++number) {
    take_step(number);
    if (number == 1 && station_.network.activity_log() != nullptr)
      station_.network.activity_log()->settle();
  }
  step_->settle();
  pipeline_.drain();
  if (!recorder_.empty()) {
    RecordedTrace recorded = recorder_.gather();
    if (station_.session.rank() == 0) traced_ = &report_.traced(std::move(recorded));
  }
  RunSummary summary = report_.summary(0.0, device_.clock().now(), batches_->waits());
  summary.dry_run = true;
  summary.steps = summary.taken = config_.run.steps;
  return summary;
}

}  // namespace penstock
