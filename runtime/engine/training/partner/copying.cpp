#include "runtime/engine/training/partner/copying.h"

#include <utility>

#include "kernels/error.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {

Copying::Copying(const CheckpointConfig& config, int64_t attempt, const Saver& saver,
                 const Pipeline& pipeline, const Station& station, Note note)
    : config_(config),
      attempt_(attempt),
      saver_(saver),
      pipeline_(&pipeline),
      station_(station),
      note_(std::move(note)) {}

void Copying::start(const Progress& progress) {
  if (!config_.partner) return;
  attempt([&] {
    copies_ = std::make_unique<PartnerCopies>(config_, saver_.state(progress), attempt_, *pipeline_,
                                              station_);
    note_(copies_->description());
  });
}

void Copying::give_up() {
  if (!copies_) return;
  gave_up_ = true;
  attempt([&] {
    copies_->copy_the_rest();
    copies_->settle(true);
  });
  copies_.reset();
}

void Copying::start_anew(const Pipeline& pipeline, const Progress& progress) {
  pipeline_ = &pipeline;
  if (std::exchange(gave_up_, false) && !failed_) start(progress);
}

void Copying::settle(bool waits) {
  attempt([&] { copies_->settle(waits); });
}

bool Copying::is_due(int64_t step) const {
  return copies_ && copies_->is_due(step);
}

void Copying::begin(const Progress& progress) {
  if (!is_due(progress.step)) return;
  attempt([&] {
    copies_->begin(saver_.state(progress));
    if (progress.owes_evaluation) copies_->copy_the_rest();
  });
}

void Copying::copy_the_rest() {
  if (copies_) copies_->copy_the_rest();
}

bool Copying::under_way() const {
  return copies_ && copies_->under_way();
}

void Copying::end() {
  if (!copies_) return;
  if (copies_->waits() > 0) {
    const double each_ms = 1e3 * copies_->waited_seconds() / static_cast<double>(copies_->waits());
    note_("copies in memory: training waited " + amount_text(copies_->waits(), "time") +
          " for one to arrive, " + milliseconds_text(each_ms) +
          " on average; a larger --checkpoint.partner_every hides more of it");
  }
  attempt([&] { copies_->remove(); });
}

void Copying::attempt(const std::function<void()>& work) {
  if (failed_) return;
  try {
    work();
  } catch (const Error& error) {
    const bool known_to_all = error.scope() == ErrorScope::EveryRank;
    if (config_.on_error != "continue" || !known_to_all || error.kind() != ErrorKind::Resource) {
      throw;
    }
    failed_ = true;
    note_(std::string("warning: ") + error.what() +
          "; training goes on without copies in memory (checkpoint.on_error)");
  }
}

}  // namespace penstock
