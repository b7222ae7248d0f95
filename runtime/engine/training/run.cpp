#include "runtime/engine/training/run.h"

#include <chrono>
#include <cmath>

#include "kernels/bit_flip.h"
#include "runtime/engine/measurements/outlook.h"
#include "runtime/engine/training/checkpoints/from_folder.h"
#include "runtime/engine/training/checkpoints/transfer.h"
#include "runtime/engine/training/divergence/spoilt_weights.h"
#include "runtime/engine/training/evaluation/best.h"
#include "runtime/engine/training/evaluation/evaluation.h"
#include "runtime/network/optimizer/rate.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the error that ends a run that has diverged, on every rank.
Error diverged(const std::string& what) {
  return {ErrorKind::Diverged,
          what + ". Lower optimizer.learning_rate, add warmup_steps or set optimizer.clip_norm",
          ErrorScope::EveryRank};
}

}  // namespace

Run::Run(const RunOrder& order, const Station& station, Reporter* reporter)
    : config_(order.config),
      station_(station),
      reporter_(reporter),
      stopping_(order.stopping),
      source_(config_, order.models, station.network.world()),
      resumed_(find_resume_point(order.resume_from, config_, order.run_file, source_.begin(),
                                 station.network.world())),
      now_(assemble(order)),
      saver_(config_, order.run_file, order.identity, now_->pipeline, station),
      checkpoints_(config_, saver_, station_, [this](const std::string& line) { note(line); }),
      copies_(config_.checkpoint, order.attempt, saver_, now_->pipeline, station_,
              [this](const std::string& line) { note(line); }),
      until_(order.until),
      report_(config_, station, now_->pipeline, std::move(forecast_)),
      trace_(config_.run.trace, resumed_.progress.step + 1, config_.run.steps),
      run_file_of_(order.run_file_of),
      keep_schedule_(order.keep_schedule),
      models_(order.models) {
  BitFlips::instance().arm(station.session.rank());
  if (resumed_.checkpoint.empty()) start_from_elsewhere();
  note_frozen();
  note_optimizer();
  now_->step.emplace(now_->config, now_->pipeline, station_, [this] { return vote(); });
  now_->step->continue_from(resumed_.progress);
  if (!resumed_.checkpoint.empty()) go_on(order.is_verified);
  now_->open(source_, station_, resumed_.progress);
  watch_for_replans(order);
  station_.device.memory().reset_peaks();
  // `stopping_` learns the size of a checkpoint, to leave time for it before a limit: 4 bytes for
  // each weight and for each of two numbers that most optimizers keep with it.
  if (stopping_ != nullptr) stopping_->will_save(now_->blueprint.layout.total_parameters() * 12);
}

RunSummary Run::to_the_end() {
  const auto start = Clock::now();
  if (config_.run.precision == "bf16" && !station_.device.native_bf16()) {
    note(
        "note: this processor has no bf16 arithmetic; products run in fp32 and are rounded, "
        "which is slower than --run.precision fp32");
  }
  const int64_t before = resumed_.progress.step;
  last_.step = before;
  last_.loss = resumed_.progress.loss;
  bool owes = !now_->evaluations.make_up(resumed_.progress, *now_->step);
  bool stops = owes;
  bool is_over = now_->evaluations.patience_is_over();
  // A run that takes no further step saves once all the same: the checkpoint that it came from may
  // be in another directory. It also saves if the evaluation that was owed has just changed what is
  // best, since the checkpoint that it came from lacks that.
  const bool lacks =
      resumed_.progress.owes_evaluation && now_->evaluations.best() != resumed_.progress.best;
  const bool saves = stops || lacks || before == config_.run.steps;
  if (saves && now_->evaluations.spoilt().empty()) save_last(progress(owes));
  for (int64_t number = before + 1; number <= config_.run.steps && !stops && !is_over; ++number) {
    take_step(number);
    stops = conclude(number);
    if (!doubted_.empty()) end_in_doubt(doubted_);
    const bool last = number == config_.run.steps;
    if (last || stops || checkpoints_.is_due(progress(false), now_->step->vote())) {
      refuse_spoilt_weights();
    }
    if (now_->step->audit() != nullptr && now_->step->audit()->last_passed() > 0) {
      saver_.audited(now_->step->audit()->last_passed());
    }
    begin_copy(number);
    if (number == before + 1 && station_.network.activity_log() != nullptr) {
      station_.network.activity_log()->settle();
    }
    for (const std::string& line : report_.slow_ranks()) {
      note("warning: " + line);
      if (replanner_) replanner_->found_slow();
    }
    owes = now_->evaluations.is_due(number) && !evaluate(number, stops);
    // A checkpoint of spoilt weights would push out a sound one.
    if (!now_->evaluations.spoilt().empty()) break;
    stops = stops || owes;
    is_over = now_->evaluations.patience_is_over();
    if (stops || is_over || (last && config_.checkpoint.last)) {
      save_last(progress(owes));
    } else {
      checkpoints_.after_step(progress(owes), now_->step->vote());
      if (replans_ && !last) replan(number);
    }
  }
  checkpoints_.finish();
  now_->pipeline.drain();
  if (!unsaved_) copies_.end();
  write_trace();
  if (!now_->evaluations.spoilt().empty()) {
    throw diverged(now_->evaluations.spoilt() +
                   "; that state is not saved, and checkpoints are of states before it");
  }
  report_.saved(checkpoints_.record(), checkpoints_.snapshot_bytes());
  RunSummary summary = report_.summary(last_.loss, seconds_since(start), now_->batches->waits());
  summary.steps = last_.step;
  summary.taken = last_.step - before;
  summary.epoch = epoch_now();
  summary.rolled_back = rolled_back_;
  if (stops && last_.step != until_)
    summary.stopped = stopping_ != nullptr ? stopping_->reason() : "";
  const std::string& metric = config_.checkpoint.best;
  const BestEvaluation& best = now_->evaluations.best();
  if (best.step > 0) summary.best = BestRecord{metric, best.step, best.value};
  if (is_over && last_.step < config_.run.steps) summary.ended_early = describe(metric, best);
  if (reporter_ != nullptr) reporter_->finished(summary);
  if (unsaved_) throw Error(*unsaved_);
  return summary;
}

// Returns how far the run is in epochs, or nothing if its length is not given in epochs.
std::optional<EpochRecord> Run::epoch_now() const {
  if (config_.run.epochs == 0) return std::nullopt;
  const auto consumed = static_cast<double>(now_->step->progress().consumed_samples);
  const auto samples = static_cast<double>(source_.facts().training_samples);
  return EpochRecord{consumed / samples, config_.run.epochs};
}

Progress Run::progress(bool owes_evaluation) const {
  Progress now = now_->step->progress();
  now.owes_evaluation = owes_evaluation;
  now.best = now_->evaluations.best();
  now.loss = last_.loss;
  return now;
}

// Reports the steps whose outcome is known, and returns whether the run stops here. Without a
// barrier a step's outcome is learnt while the next step runs, so what ranks vote for in a step is
// done after the next one. If the weights are needed at once, the step is settled here.
bool Run::conclude(int64_t number) {
  if (copies_.is_due(number)) {
    now_->step->settle();  // after this, what is to be copied is final
    copies_.settle(now_->step->vote().copying);
  }
  while (const auto record = now_->step->take_settled()) conclude(*record);
  const bool last = number == config_.run.steps;
  const StepVote& vote = now_->step->vote();
  replans_ = vote.replan;
  if (last || number == until_ || vote.stop || vote.checkpoint || replans_ ||
      checkpoints_.under_way() || now_->evaluations.is_due(number) ||
      (config_.checkpoint.every > 0 && number % config_.checkpoint.every == 0)) {
    now_->step->settle();
    while (const auto record = now_->step->take_settled()) conclude(*record);
  }
  return (now_->step->vote().stop || number == until_) && !last;
}

void Run::conclude(StepRecord record) {
  for (const StepRecord& timed : timed_) {
    if (timed.step != record.step) continue;
    record.samples = timed.samples;
    record.tokens = timed.tokens;
    record.data_wait_ms = timed.data_wait_ms;
    record.step_ms = timed.step_ms;
    record.epoch = timed.epoch;
    record.speed = timed.speed;
  }
  left_out_in_a_row_ = record.left_out ? left_out_in_a_row_ + 1 : 0;
  rolled_back_ += record.rolled_back ? 1 : 0;
  if (record.left_out) leave_out(record);
  report_.loaded(record);
  if (reporter_ != nullptr) reporter_->step(record);
  last_ = record;
}

void Run::note(const std::string& line) {
  if (reporter_ != nullptr) reporter_->note(line);
}

void Run::start_from_elsewhere() {
  if (!config_.model.from.empty()) {
    load_folder(config_.model, now_->pipeline, station_.device);
    note("weights from " + config_.model.from);
  }
  if (!config_.init.from.empty()) start_from_another();
  if (!config_.model.lora.from.empty()) {
    load_adapters(config_.model, now_->pipeline, station_.device);
    note("adapters from " + config_.model.lora.from);
  }
}

void Run::start_from_another() {
  const TransferRecord record =
      on_every_rank([&] { return plan_transfer(config_.init, now_->blueprint.layout); });
  transfer(record, now_->pipeline, station_.device);
  report_.started_from(record);
  note(describe(record));
}

void Run::go_on(bool is_verified) {
  if (!is_verified) verify_checkpoint(resumed_.checkpoint, station_.network.world());
  load_state(resumed_.checkpoint, now_->pipeline.state(), station_.device,
             station_.network.world());
  note(resumed_.note);
}

void Run::note_frozen() {
  if (config_.optimizer.freeze.empty()) return;
  const Layout& layout = now_->blueprint.layout;
  note("frozen: " + std::to_string(layout.frozen_parameters()) + " of " +
       std::to_string(layout.total_parameters()) + " parameters; the first layer that trains is '" +
       now_->blueprint.model.layers[layout.first_trained]->name() + "'");
}

void Run::note_optimizer() {
  std::vector<std::string> parameters;
  for (const NetworkTensor& tensor : now_->blueprint.layout.named) {
    if (tensor.parameter) parameters.push_back(tensor.name);
  }
  for (const std::string& line : {rate_note(config_.optimizer, config_.run.steps),
                                  decay_note(config_.optimizer, parameters)}) {
    if (!line.empty()) note(line);
  }
}

// Draws up and forecasts the run before anything is allocated, and makes its first assembly.
std::unique_ptr<Assembly> Run::assemble(const RunOrder& order) {
  Blueprint blueprint = on_every_rank([&] {
    return draw_up(config_, order.models, source_.facts().vocabulary, source_.facts().classes);
  });
  if (station_.session.rank() == 0) forecast_ = outlook_on_first_rank(blueprint, order.devices);
  if (order.drawn_up) order.drawn_up(blueprint);
  const auto start = Clock::now();
  auto made = std::make_unique<Assembly>(config_, std::move(blueprint), source_, station_,
                                         listeners(), true);
  making_s_ = seconds_since(start);
  return made;
}

EvaluationListeners Run::listeners() {
  return {.reporter = reporter_, .stopping = stopping_};
}

// Notes what is about to run, what it should take, and whether there is memory for it. Returns the
// forecast.
Forecast Run::outlook_on_first_rank(const Blueprint& blueprint, const Devices* devices) {
  Forecast ahead = forecast(config_, blueprint,
                            devices != nullptr ? *devices : like_devices(station_.device.model()),
                            station_.session.local_ranks());
  note(headline(config_, blueprint.layout, station_.network, station_.device));
  if (!source_.note().empty()) note(source_.note());
  refuse_far_too_large(ahead, station_, config_);
  note(outlook(ahead, station_, config_));
  return ahead;
}

// Returns this rank's vote on stopping and on a checkpoint. Before that it finishes the copy in
// memory, so a step asks once, before its update overwrites what is copied.
StepVote Run::vote() {
  if (stopping_ != nullptr && checkpoints_.longest_seconds() > 0.0) {
    stopping_->saved(checkpoints_.longest_seconds());
  }
  copies_.copy_the_rest();
  return {.stop = stopping_ != nullptr && stopping_->is_due(),
          .checkpoint = checkpoints_.is_time(),
          .writing = checkpoints_.writes(),
          .copying = copies_.under_way(),
          .replan = wants_replan()};
}

// Returns this rank's vote on a re-plan. Steps that are being recorded are not to be of two splits.
// Without a barrier the vote counts a step later.
bool Run::wants_replan() {
  if (!replanner_) return false;
  const int64_t running = now_->step->progress().step + 1;
  if (trace_.spans(running) || trace_.spans(running + 1)) return false;
  return replanner_->is_due(!report_.compute_seconds().empty());
}

void Run::take_step(int64_t number) {
  trace_.begin_step(number, now_->pipeline.training(), station_.network.world());
  const auto start = Clock::now();
  report_.begin_step();
  const double waited = now_->batches->waits().seconds;
  const std::span<const Batch> batches = next_batches(number);
  now_->step->begin(number, batches);
  StepRecord record = now_->step->run();
  if (now_->step->doubt() != Doubt::None) answer_doubt(number, batches, record);
  if (record.step == 0) return;  // the step was not taken: the run ends with the one before
  record.samples = source_.mini_batch();
  record.epoch = epoch_now();
  record.tokens = source_.mini_batch_tokens();
  record.data_wait_ms = 1e3 * (now_->batches->waits().seconds - waited);
  record.step_ms = 1e3 * seconds_since(start);
  record.speed = report_.speed(record.step_ms);
  // If a step is not settled, it is not known yet how many tokens count in its loss, so the number
  // of the step before is used.
  const int64_t loss_tokens = config_.optimizer.barrier ? record.loss_tokens : last_.loss_tokens;
  report_.end_step({record.step_ms, record.tokens, loss_tokens}, now_->pipeline.training());
  trace_.end_step(number, now_->pipeline.training());
  if (timed_.size() == timed_.capacity()) timed_.erase(timed_.begin());
  timed_.push_back(record);
}

// Deals with a step that was left out and so has changed nothing. If training goes on, it warns.
// Otherwise it saves the weights of before that step, unless they are spoilt, and ends the run as
// diverged.
void Run::leave_out(const StepRecord& record) {
  constexpr int kMostInARow = 10;
  const int64_t step = record.step;
  // A step that was rolled back was found not finite only during the next step. By then the batches
  // of the next step have replaced its own, so a second pass cannot find the place.
  const std::string what = record.rolled_back
                               ? "step " + std::to_string(step) + ": the " +
                                     (std::isfinite(record.loss) ? "gradient" : "loss") +
                                     " is not finite (--optimizer.barrier true says where)"
                               : now_->step->why_left_out();
  const bool goes_on = left_out_in_a_row_ <= kMostInARow;
  if (config_.run.on_nonfinite == "skip" && goes_on) return note("warning: " + what + "; left out");
  std::string end = "; the weights are as before this step";
  const std::string spoilt = find_spoilt_weights(now_->pipeline, station_);
  if (!spoilt.empty()) {
    end = "; " + spoilt + " is not finite since the update before: that state is not saved, and " +
          "checkpoints are of states before it";
  } else if (step > 1 && config_.checkpoint.last) {
    Progress before = progress(false);
    before.step = step - 1;
    before.consumed_samples -= source_.mini_batch();
    save_last(before);
    end += unsaved_ ? std::string(", but are not saved: ") + unsaved_->what() : ", and saved so";
  }
  if (!goes_on) end += ", as before " + std::to_string(kMostInARow) + " others in a row";
  now_->pipeline.drain();
  throw diverged(what + end);
}

void Run::refuse_spoilt_weights() {
  const std::string spoilt = find_spoilt_weights(now_->pipeline, station_);
  if (spoilt.empty()) return;
  checkpoints_.finish();
  now_->pipeline.drain();
  throw diverged(spoilt + " is not finite after step " + std::to_string(last_.step) +
                 "; that state is not saved, and checkpoints are of states before it");
}

void Run::answer_doubt(int64_t number, std::span<const Batch> batches, StepRecord& record) {
  constexpr int kMostTries = 2;
  for (int tries = 1; now_->step->doubt() != Doubt::None; ++tries) {
    const std::string what =
        "step " + std::to_string(number) + ": " + now_->step->audit()->account(now_->step->doubt());
    const bool retries = config_.run.on_corruption == "retry";
    if (now_->step->doubt() == Doubt::Corrected) {  // the step counts; the run may end after it
      if (!retries) doubted_ = what;
      return note("warning: " + what);
    }
    if (!retries || now_->step->doubt() == Doubt::Kept || tries > kMostTries) end_in_doubt(what);
    note("warning: " + what + "; the step is taken again");
    now_->step->begin(number, batches);
    record = now_->step->run();
    const std::string verdict = now_->step->audit()->verdict();  // collective: all ranks call it
    if (now_->step->doubt() == Doubt::None && !verdict.empty()) note("audit: " + verdict);
  }
}

// Ends the run, because a machine has computed or kept bits that it should not have.
void Run::end_in_doubt(const std::string& what) {
  const Doubt doubt = now_->step->doubt();
  const Progress last = progress(doubt == Doubt::Corrected && now_->evaluations.is_due(last_.step));
  const bool excludes = config_.run.on_corruption == "exclude";
  if (excludes) {
    const std::string hosts = now_->step->audit()->hosts(doubt);
    if (reporter_ != nullptr) reporter_->excluded(hosts);
  }
  std::string end;
  if (doubt == Doubt::Kept) {
    const int64_t passed = now_->step->audit()->last_passed();
    end = "; nothing was saved: checkpoints up to step " + std::to_string(passed) +
          ", the last one whose audit found nothing, are sound";
  } else if (last.step > 0 && config_.checkpoint.last) {
    save_last(last);
    end = unsaved_ ? std::string("; the state of step ") + std::to_string(last.step) +
                         " is sound, but is not saved: " + unsaved_->what()
                   : "; the state of step " + std::to_string(last.step) + " is sound, and saved";
  }
  now_->pipeline.drain();
  // A run that can go on ends as stopped, so that a supervisor starts it again from a checkpoint.
  const bool goes_on = excludes || config_.run.on_corruption == "retry";
  throw Error(goes_on ? ErrorKind::Stopped : ErrorKind::Resource,
              what + end + ". A processor or its memory is defective: take that host out",
              ErrorScope::EveryRank);
}

std::span<const Batch> Run::next_batches(int64_t step) {
  const ActivityScope reading(station_.network.activity_log(),
                              {.activity = Activity::Data, .step = step});
  return now_->batches->next();
}

// Evaluates after this step, or puts that off if the run stops. Returns false where the next
// attempt has to do it again.
bool Run::evaluate(int64_t step, bool stops) {
  if (!stops) return now_->evaluations.evaluate(step, *now_->step);
  now_->evaluations.put_off(step);
  return false;
}

// Writes the last checkpoint. With checkpoint.on_error = continue, a failure that all ranks know of
// is kept in `unsaved_`, and thrown once the run has ended in good order.
void Run::save_last(const Progress& progress) {
  const auto start = Clock::now();
  try {
    checkpoints_.save(progress);
  } catch (const Error& error) {
    if (config_.checkpoint.on_error != "continue" || error.scope() != ErrorScope::EveryRank) throw;
    unsaved_ = error;
  }
  if (stopping_ != nullptr) stopping_->saved(seconds_since(start));
}

void Run::begin_copies() {
  copies_.start(resumed_.progress);
}

// Begins a copy of the state after `step`, if a copy is due. No copy is begun while the best
// checkpoint is being written. If a rank is lost, that checkpoint is lost, too, and a run that goes
// on from the copy would not repeat the evaluation that found it best.
void Run::begin_copy(int64_t step) {
  if (!checkpoints_.writes_best()) copies_.begin(progress(now_->evaluations.is_due(step)));
}

void Run::write_trace() {
  if (trace_.empty()) return;
  RecordedTrace recorded = trace_.gather();
  if (reporter_ != nullptr) reporter_->traced(report_.traced(std::move(recorded)));
}

}  // namespace penstock
