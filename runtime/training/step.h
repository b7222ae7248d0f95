// runtime/training/step.h -- Step: what one synchronous training step does, from micro-batches to
// updated weights. When steps are taken, and what happens between them, is run.h's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/comm/station.h"
#include "runtime/configuration/config.h"
#include "runtime/optimizer/average.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/pipeline/pipeline.h"
#include "runtime/telemetry/records.h"
#include "runtime/training/checkpoints/progress.h"
#include "runtime/training/gradient_norm.h"
#include "runtime/training/step_vote.h"

namespace penstock {

class Step {
 public:
  // Allocates the optimizer's state and, where optimizer.moving_average asks for them, the averages
  // of the weights and of norms' moving statistics, which start as those are now: after what is
  // loaded into them. `ask` (may be empty) gives this rank's vote, once a step. All arguments must
  // outlive this. Throws Error(Input) on every rank for an optimizer there is not.
  Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask = {});
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // On resuming, before the first step: what was done so far. The state that belongs to it is
  // loaded into the pipeline's tables by whoever calls this.
  void continue_from(const Progress& progress);
  // After the last run().
  [[nodiscard]] const Progress& progress() const { return progress_; }

  // Collective over all ranks; `batches` are those of this replica. Counts what the loss is divided
  // by, over all replicas, and sets the gradients to zero. `number` is 1 for the first step
  // of all.
  void begin(int64_t number, std::span<const Batch> batches);
  // Collective, after begin(): the pass through the pipeline, the norm of the gradient, clipping,
  // the optimizer's update and the averages'. The record lacks what only a clock and the data know:
  // samples, step_ms and speed. Where the loss or the norm is not finite, on any rank, it is left
  // out (StepRecord::left_out), on all: weights, optimizer, averages and statistics are as before.
  [[nodiscard]] StepRecord run();
  // Collective, after a run() that was left out, with the batches still there: a sentence that
  // names step, layer and micro-batch, the same on every rank. Takes a second pass to find them.
  [[nodiscard]] std::string why_left_out();
  // What was voted for in the last run(), the same on every rank.
  [[nodiscard]] const StepVote& vote() const { return vote_; }

  // Does `work` with the averages in the place of what they are averages of, where there are any.
  void with_averages(const std::function<void()>& work);

 private:
  void update();

  const Config& config_;
  Pipeline& pipeline_;
  Station station_;
  Network& network_;
  Device& device_;
  AskVote ask_;
  StepVote vote_;
  GradientNorm norm_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: none
  StepInput input_;
  StepRecord record_;
  Progress progress_;
};

}  // namespace penstock
