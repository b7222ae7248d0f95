#include "runtime/engine/training/checkpoints/checkpointing.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

Checkpointing::Checkpointing(const Config& config, Saver& saver, const Station& station, Note note)
    : config_(config.checkpoint),
      saver_(saver),
      network_(station.network),
      note_(std::move(note)),
      writer_(station.network.world(), station.device) {}

bool Checkpointing::is_time() const {
  if (config_.every > 0 || config_.minutes == 0 || network_.world().rank() != 0) return false;
  return Clock::now() - last_begun_ >=
         std::chrono::duration<double, std::ratio<60>>(config_.minutes);
}

bool Checkpointing::is_due(const Progress& progress, const StepVote& vote) const {
  const bool by_plan = config_.every > 0 ? progress.step % config_.every == 0 : vote.checkpoint;
  return by_plan || progress.is_best();
}

void Checkpointing::after_step(const Progress& progress, const StepVote& vote) {
  const auto start = Clock::now();
  attempt([&] {
    if (!writer_.under_way() || vote.writing) return;
    if (const auto result = writer_.advance()) completed(*result);
  });
  if (is_due(progress, vote)) attempt([&] { begin(progress); });
  stall_s_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void Checkpointing::begin(const Progress& progress) {
  const ActivityScope saving(network_.activity_log(),
                             {.activity = Activity::Checkpoint, .step = progress.step});
  if (writer_.under_way()) {
    const bool waits = config_.every > 0 || progress.is_best();
    if (!std::exchange(noted_, true)) {
      note_(std::string("note: a checkpoint takes longer to write than ") +
            (waits ? "the time to the next: training waits for it"
                   : "checkpoint.minutes: the next one comes later"));
    }
    if (!waits) return;  // the checkpoint stays due, so the next step tries again
    if (const auto result = writer_.finish()) completed(*result);
  }
  last_begun_ = Clock::now();
  last_step_ = progress.step;
  best_is_last_ = progress.is_best();
  ++begun_;
  writer_.begin(saver_.request(progress));
}

void Checkpointing::save(const Progress& progress) {
  const ActivityScope saving(network_.activity_log(),
                             {.activity = Activity::Checkpoint, .step = progress.step});
  finish();
  if (complete_step_ == progress.step) return;
  last_step_ = progress.step;
  last_begun_ = Clock::now();
  completed(writer_.save(saver_.request(progress)));
}

void Checkpointing::finish() {
  const ActivityScope saving(network_.activity_log(),
                             {.activity = Activity::Checkpoint, .step = last_step_});
  attempt([&] {
    if (const auto result = writer_.finish()) completed(*result);
  });
}

void Checkpointing::completed(const CheckpointResult& result) {
  complete_step_ = last_step_;
  longest_s_ =
      std::max(longest_s_, std::chrono::duration<double>(Clock::now() - last_begun_).count());
  ++count_;
  bytes_ = result.size_bytes;
  if (!result.warning.empty()) note_("warning: " + result.warning);
}

void Checkpointing::attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    const bool known_to_all = error.scope() == ErrorScope::EveryRank;
    if (config_.on_error != "continue" || !known_to_all || error.kind() == ErrorKind::Internal) {
      throw;
    }
    note_(std::string("warning: ") + error.what() +
          "; training goes on (checkpoint.on_error), the next checkpoint is the next try");
  }
}

CheckpointRecord Checkpointing::record() const {
  const auto begun = static_cast<double>(begun_);
  return {.count = count_, .stall_ms = begun_ > 0 ? 1e3 * stall_s_ / begun : 0.0, .bytes = bytes_};
}

}  // namespace penstock
