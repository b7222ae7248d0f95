#include "runtime/engine/training/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/engine/training/divergence/not_finite.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/network/optimizer/clip.h"
#include "runtime/network/optimizer/rate.h"

namespace penstock {
Step::Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask)
    : config_(config),
      pipeline_(pipeline),
      station_(station),
      network_(station.network),
      device_(station.device),
      ask_(std::move(ask)),
      norm_(pipeline, station.network.pipeline(), station.network.replicas(), station.device),
      loads_(pipeline, station.network.pipeline(), station.device),
      optimizer_(on_every_rank([&] { return make_optimizer(config.optimizer); })) {
  optimizer_->allocate(pipeline.state(), device_);
  if (config.optimizer.moving_average > 0.0) {
    average_ = std::make_unique<WeightAverage>(config.optimizer.moving_average);
    average_->allocate(pipeline.state(), device_);
  }
  if (config.run.audit > 0)
    audit_ = std::make_unique<StepAudit>(config.run.seed, pipeline, station);
  input_.pass.seed = config.run.seed;
  input_.pass.first_micro_batch =
      int64_t{network_.replicas().rank()} * config.pipeline.micro_batches;
  input_.pass.micro_batches =
      int64_t{config.pipeline.micro_batches} * int64_t{config.pipeline.replicas};
  input_.update = [this] { waits() ? update() : update_late(); };
  if (config.optimizer.barrier) return;
  if (!config.run.dry_run && !device_.host_addressable()) {
    throw Error(ErrorKind::Input,
                "optimizer.barrier = false is for the CPU so far: leave it out on a GPU",
                ErrorScope::EveryRank);
  }
  late_ = std::make_unique<LateVerdict>(norm_, loads_, network_);
  undo_.allocate(pipeline.state(), device_);
  input_.settle = [this] { return settle_before_backwards(); };
}

void Step::continue_from(const Progress& progress) {
  progress_ = progress;
  optimizer_->set_steps(progress.optimizer_steps);
}

void Step::begin(int64_t number, std::span<const Batch> batches) {
  record_ = {.step = number,
             .learning_rate = learning_rate(config_.optimizer, number, config_.run.steps)};
  input_.pass.step = number;
  input_.batches = batches;
  const double targets = count_targets(pipeline_, batches, network_.replicas());
  input_.pass.loss_scale = targets > 0.0 ? static_cast<float>(1.0 / targets) : 1.0F;
  gradients_stay_ = doubtful_.has_value();
  doubt_ = Doubt::None;
  audited_ = audit_ != nullptr && number % config_.run.audit == 0;
  input_.audits = audited_;
  if (audited_) audit_->begin(number);
  pipeline_.begin_step(gradients_stay_);
}

StepRecord Step::run() {
  if (!pipeline_.run(input_)) return {};
  if (doubt_ >= Doubt::Disputed) return record_;
  const PipelineConfig& pipeline = config_.pipeline;
  progress_.step = record_.step;
  progress_.consumed_samples +=
      pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas;
  progress_.optimizer_steps = optimizer_->steps();
  return record_;
}

std::optional<StepRecord> Step::take_settled() {
  if (settled_.empty()) return std::nullopt;
  const StepRecord first = settled_.front();
  settled_.erase(settled_.begin());
  return first;
}

// Checks the gradients, which are complete, and then changes the weights. All ranks vote on whether
// the gradients are finite, although all replicas should have the same: if one rank alone left a
// step out, its weights would differ from those of the other ranks from then on.
void Step::update() {
  Verdict verdict;
  verdict.grad_norm = norm_.compute();
  verdict.vote = ask_ ? ask_() : StepVote{};
  verdict.vote.refuse = !std::isfinite(verdict.grad_norm);
  const Doubt here = audited_ ? audit_->look() : Doubt::None;
  verdict.vote.disputed = here == Doubt::Disputed;
  verdict.vote.computed = here == Doubt::Computed;
  verdict.vote.kept = here == Doubt::Kept;
  verdict.loss =
      gather_loss(pipeline_, config_.pipeline.micro_batches, device_, network_, &verdict.vote);
  learn(record_, verdict);
  if (vote_.disputed) doubt_ = Doubt::Disputed;
  if (vote_.computed) doubt_ = Doubt::Computed;
  if (vote_.kept) doubt_ = Doubt::Kept;
  if (doubt_ != Doubt::None) return;
  record_.experts = loads_.gather();
  if (!record_.left_out) change_weights(record_, false);
  if (audited_ && doubt_ == Doubt::None) audit_->passed();
  if (!record_.left_out && average_) average_->update(record_.step);
  if (!record_.left_out) pipeline_.gather_weights();
  settled_.push_back(record_);
}

// Starts the vote on the gradients, and makes the update before its verdict is known. The norm
// counts as 0 until then, so nothing is clipped. If the step before was left out or clipped
// (trusts_ is false), waits for the verdict and makes the update then.
void Step::update_late() {
  const std::span<const double> squares = norm_.squares();
  StepVote vote = ask_ ? ask_() : StepVote{};
  vote.refuse =
      !std::all_of(squares.begin(), squares.end(), [](double s) { return std::isfinite(s); });
  late_->start({.squares = squares,
                .loss = loss_here(pipeline_, config_.pipeline.micro_batches, device_),
                .vote = vote,
                .rows = loads_.here()});
  doubtful_ = record_;
  if (!trusts_) return settle();
  undo_.save();
  change_weights(record_, false);
  pipeline_.gather_weights();
  made_ = true;
}

void Step::learn(StepRecord& record, const Verdict& verdict) {
  vote_ = verdict.vote;
  record.grad_norm = verdict.grad_norm;
  record.loss = verdict.loss.mean();
  record.auxiliary_loss = verdict.loss.auxiliary_mean();
  const bool labels_positions = pipeline_.blueprint().input.label_per_position;
  if (labels_positions) record.loss_tokens = std::llround(verdict.loss.targets);
  if (!labels_positions) record.accuracy = verdict.loss.accuracy();
  record.left_out = vote_.refuse || !std::isfinite(record.grad_norm) || !std::isfinite(record.loss);
  if (settled_.size() == settled_.capacity()) settled_.erase(settled_.begin());
}

// Makes the update. If `again` is true, the update was made before with another factor of clipping.
// What does not depend on that factor is then not done a second time.
void Step::change_weights(const StepRecord& record, bool again) {
  const double scale = clip_scale(record.grad_norm, config_.optimizer.clip_norm);
  const auto update = [&] { optimizer_->step(record.learning_rate, scale); };
  if (audited_) {
    doubt_ = audit_->audit_update(*optimizer_, record.learning_rate, scale, update);
  } else {
    update();
  }
  if (!again) pipeline_.end_step();
}

void Step::settle() {
  if (!doubtful_) return;
  StepRecord record = *std::exchange(doubtful_, std::nullopt);
  const bool made = std::exchange(made_, false);
  const Verdict verdict = late_->finish();
  learn(record, verdict);
  if (station_.session.rank() == 0) record.experts = loads_.of(verdict.rows);
  const bool clipped = clip_scale(record.grad_norm, config_.optimizer.clip_norm) != 1.0;
  trusts_ = !record.left_out && !clipped;
  record.rolled_back = made && !trusts_;
  if (record.rolled_back) {
    pipeline_.await_weights();
    undo_.restore();
    optimizer_->set_steps(optimizer_->steps() - 1);
    if (record.left_out) undo_.restore_statistics();
  }
  const bool changes = !record.left_out && (!made || record.rolled_back);
  if (changes) change_weights(record, made);
  if (changes || record.rolled_back) pipeline_.gather_weights();
  if (!record.left_out && average_) average_->update(record.step);
  progress_.optimizer_steps = optimizer_->steps();
  if (record.step == record_.step) record_ = record;
  settled_.push_back(record);
}

// Settles the step before the running one. Returns whether the running step goes on, begins again
// or ends the run.
Settled Step::settle_before_backwards() {
  if (!doubtful_) return Settled::GoOn;
  settle();
  const StepRecord& before = settled_.back();
  if (std::exchange(gradients_stay_, false)) {
    for (const auto& stage : pipeline_.stages()) stage->weights().gradients().begin_gradients();
  }
  if (!before.rolled_back) return Settled::GoOn;
  return before.left_out && config_.run.on_nonfinite != "skip" ? Settled::Stop : Settled::Again;
}

std::string Step::why_left_out() {
  const char* what = std::isfinite(record_.loss) ? "gradient" : "loss";
  return "step " + std::to_string(record_.step) + ": the " + what + " is not finite, " +
         find_not_finite(pipeline_, input_, station_);
}

void Step::with_averages(const std::function<void()>& work) {
  if (!average_) return work();
  pipeline_.await_weights();
  average_->swap_in();
  pipeline_.gather_weights();
  work();
  pipeline_.await_weights();
  average_->swap_out();
  pipeline_.gather_weights();
}

}  // namespace penstock
