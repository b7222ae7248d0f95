#include "runtime/training/step.h"

#include <cmath>
#include <utility>

#include "runtime/optimizer/clip.h"
#include "runtime/optimizer/rate.h"
#include "runtime/training/metrics.h"
#include "runtime/training/not_finite.h"

namespace penstock {
Step::Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask)
    : config_(config),
      pipeline_(pipeline),
      station_(station),
      network_(station.network),
      device_(station.device),
      ask_(std::move(ask)),
      norm_(pipeline, station.network.pipeline(), station.network.replicas(), station.device),
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

// Once the gradients are complete: look at them, then change the weights. That the gradient is not
// finite is voted on, although all replicas should have the same: a rank that alone left a step out
// would have other weights than the others from then on.
void Step::update() {
  record_.grad_norm = norm_.compute();
  vote_ = ask_ ? ask_() : StepVote{};
  vote_.refuse = !std::isfinite(record_.grad_norm);
  const LossSums loss =
      gather_loss(pipeline_, config_.pipeline.micro_batches, device_, network_, &vote_);
  record_.loss = loss.mean();
  record_.auxiliary_loss = loss.auxiliary_mean();
  // Padding is no token.
  const bool labels_positions = pipeline_.blueprint().input.label_per_position;
  if (labels_positions) record_.tokens = std::llround(loss.targets);
  if (!labels_positions) record_.accuracy = loss.accuracy();
  record_.left_out = vote_.refuse || !std::isfinite(record_.loss);
  if (record_.left_out) return;
  optimizer_->step(record_.learning_rate,
                   clip_scale(record_.grad_norm, config_.optimizer.clip_norm));
  pipeline_.end_step();
  if (average_) average_->update(record_.step);
  pipeline_.spread_weights();
}

std::string Step::why_left_out() {
  const char* what = std::isfinite(record_.loss) ? "gradient" : "loss";
  return "step " + std::to_string(record_.step) + ": the " + what + " is not finite, " +
         find_not_finite(pipeline_, input_, station_);
}

void Step::with_averages(const std::function<void()>& work) {
  if (!average_) return work();
  average_->swap_in();
  pipeline_.spread_weights();
  work();
  average_->swap_out();
  pipeline_.spread_weights();
}

}  // namespace penstock
