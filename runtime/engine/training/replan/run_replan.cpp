// runtime/engine/training/replan/run_replan.cpp -- the members of Run that split the layers of the
// running network in another way: what is under way is ended, the new assembly is made beside the
// old one, takes over its state from memory to memory, and the old one goes.
#include <chrono>

#include "runtime/engine/training/replan/carry.h"
#include "runtime/engine/training/run.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

std::string describe(const ReplanRecord& record) {
  std::string text = "re-planned after step " + std::to_string(record.step) + ": layers " +
                     split_text(record.before) + " -> " + split_text(record.after) +
                     "; of a step " + milliseconds_text(record.predicted_after_ms) +
                     " are predicted in place of " + milliseconds_text(record.predicted_before_ms);
  if (record.measured_before_ms > 0.0) {
    text += " (" + milliseconds_text(record.measured_before_ms) + " measured)";
  }
  return text + "; training stood still for " + milliseconds_text(1e3 * record.seconds) + ", " +
         bytes_text(record.bytes) + " went from rank to rank";
}

}  // namespace

void Run::watch_for_replans(const RunOrder& order) {
  if (config_.run.replan == "never") return;
  const Devices devices =
      order.devices != nullptr ? *order.devices : like_devices(station_.device.model());
  replanner_.emplace(config_, order.models, source_, devices, station_, order.asked_to_replan,
                     [this](const std::string& line) { note(line); });
  replanner_->took(making_s_);
}

void Run::replan(int64_t number) {
  const auto start = std::chrono::steady_clock::now();
  const std::optional<Config> next = replanner_->decide({.config = now_->config,
                                                         .blueprint = now_->blueprint,
                                                         .compute_s = report_.compute_seconds(),
                                                         .steps_left = config_.run.steps - number});
  if (!next) return;
  ReplanRecord record{.step = number,
                      .before = now_->blueprint.layout.split(),
                      .after = {},
                      .measured_before_ms = report_.median_step_ms()};
  double bytes = static_cast<double>(take_over(*next));
  station_.network.world().sum({&bytes, 1});
  record.after = now_->blueprint.layout.split();
  record.bytes = static_cast<int64_t>(bytes);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  record.seconds = taken.count();
  replanner_->took(record.seconds);
  std::optional<Forecast> ahead;
  if (station_.session.rank() == 0) {
    const NewSplit& found = replanner_->found();
    record.predicted_before_ms = 1e3 * found.now.prediction.step.mean_s;
    record.predicted_after_ms = 1e3 * found.then.prediction.step.mean_s;
    ahead = found.then;
    if (found.certificate && keep_schedule_) {
      keep_schedule_(found.config.pipeline.schedule_csv, *found.certificate);
    }
  }
  report_.replanned(record);
  report_.begin_anew(now_->pipeline, std::move(ahead), !trace_.empty());
  note(describe(record));
}

int64_t Run::take_over(const Config& config) {
  const Progress from = progress(false);
  Blueprint drawn = on_every_rank([&] {
    return draw_up(config, models_, source_.facts().vocabulary, source_.facts().classes);
  });
  checkpoints_.finish();
  checkpoints_.release_copies();
  copies_.give_up();
  now_->pipeline.drain();
  auto next =
      std::make_unique<Assembly>(config, std::move(drawn), source_, station_, listeners(), false);
  next->step.emplace(next->config, next->pipeline, station_, [this] { return vote(); });
  next->step->continue_from(from);
  const int64_t bytes = carry_state(now_->pipeline.state(), next->pipeline.state(), station_);
  saver_.serve(next->pipeline, run_file_of_ ? run_file_of_(next->config) : saver_.run_file());
  now_ = std::move(next);
  now_->pipeline.take_device();
  // What the old pipeline had cached would let addresses of messages vary for some more steps.
  station_.device.memory().trim();
  now_->open(source_, station_, from);
  station_.device.memory().reset_peaks();
  copies_.start_anew(now_->pipeline, from);
  return bytes;
}

}  // namespace penstock
