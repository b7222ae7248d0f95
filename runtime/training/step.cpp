#include "runtime/training/step.h"

#include <cmath>
#include <utility>

#include "runtime/optimizer/clip.h"
#include "runtime/optimizer/rate.h"
#include "runtime/training/metrics.h"

namespace penstock {
namespace {

void refuse_non_finite(const StepRecord& record) {
  if (std::isfinite(record.loss) && std::isfinite(record.grad_norm)) return;
  const bool loss = !std::isfinite(record.loss);
  throw Error(ErrorKind::Input,
              "step " + std::to_string(record.step) + ": the " + (loss ? "loss" : "gradient norm") +
                  " is not finite; the weights were left as before this step. Lower "
                  "optimizer.learning_rate, add warmup_steps or set optimizer.clip_norm",
              ErrorScope::EveryRank);
}

}  // namespace

Step::Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask)
    : config_(config),
      pipeline_(pipeline),
      network_(station.network),
      device_(station.device),
      ask_(std::move(ask)),
      norm_(pipeline, station.network.pipeline(), station.device),
      optimizer_(on_every_rank([&] { return make_optimizer(config.optimizer); })) {
  optimizer_->allocate(pipeline.state(), device_);
  if (config.optimizer.moving_average > 0.0) {
    average_ = std::make_unique<WeightAverage>(config.optimizer.moving_average);
    average_->allocate(pipeline.state(), device_);
  }
  input_.pass.seed = config.run.seed;
  input_.pass.first_micro_batch =
      int64_t{network_.replicas().rank()} * config.pipeline.micro_batches;
  input_.update = [this] { update(); };
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
  pipeline_.begin_step();
}

StepRecord Step::run() {
  pipeline_.run(input_);
  const PipelineConfig& pipeline = config_.pipeline;
  progress_.step = record_.step;
  progress_.consumed_samples +=
      pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas;
  progress_.optimizer_steps = optimizer_->steps();
  return record_;
}

// Once the gradients are complete: look at them, then change the weights.
void Step::update() {
  vote_ = ask_ ? ask_() : StepVote{};
  const LossSums loss =
      gather_loss(pipeline_, config_.pipeline.micro_batches, device_, network_, &vote_);
  record_.loss = loss.mean();
  record_.auxiliary_loss = loss.auxiliary_mean();
  // Padding is no token.
  const bool labels_positions = pipeline_.blueprint().input.label_per_position;
  if (labels_positions) record_.tokens = std::llround(loss.targets);
  if (!labels_positions) record_.accuracy = loss.accuracy();
  record_.grad_norm = norm_.compute();
  refuse_non_finite(record_);
  optimizer_->step(record_.learning_rate,
                   clip_scale(record_.grad_norm, config_.optimizer.clip_norm));
  pipeline_.end_step();
  if (average_) average_->update(record_.step);
}

void Step::with_averages(const std::function<void()>& work) {
  if (average_) average_->swap_in();
  work();
  if (average_) average_->swap_out();
}

}  // namespace penstock
