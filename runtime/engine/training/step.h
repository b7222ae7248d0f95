// runtime/engine/training/step.h -- Step: one synchronous training step: forwards and backwards of
// all micro-batches, sums over replicas, gradient norm and clipping, the optimizer's update. Run
// decides when steps are taken and what happens between them (run.h); it calls begin() and run()
// for each.
//
// With optimizer.barrier = true, the default, no rank updates before all ranks know the norm and
// the loss. With false (Qi et al. 2023, Zero Bubble Pipeline Parallelism, section 4) a rank updates
// as soon as its own gradients are complete, as if nothing had to be clipped and all numbers were
// finite, and goes on with the forwards of the next step. Before the first backward of that step it
// learns the norm and the loss. If the gradient had to be clipped or is not finite, every rank
// takes its update back from copies, makes the right one or none, and runs those forwards again.
// The weights are the same to the last bit as with the barrier. After a step that was clipped or
// left out the next one waits for its norm, so that a run in which every step is clipped takes
// nothing back.
//
// A step is settled when its update is final: with the barrier at the end of run(), without it
// later. docs/concepts.md explains stage, replica, micro-batch and schedule.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/audit/step_audit.h"
#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/engine/training/expert_loads.h"
#include "runtime/engine/training/gradient_norm.h"
#include "runtime/engine/training/late/late_verdict.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/network/optimizer/average.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/network/optimizer/undo.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/system/comm/station.h"

namespace penstock {

class Step {
 public:
  // Allocates the optimizer's state and, with optimizer.moving_average, the averages of the weights
  // and of norms' statistics. The averages start from the present values, so weights are loaded
  // before. `ask` (may be empty) gives this rank's vote, once a step (step_vote.h). All arguments
  // must outlive this. Throws Error(Input) on every rank for an unknown optimizer, and for
  // optimizer.barrier = false on a GPU. `station`: which rank this is, with its network, its place
  // in stages x replicas and its device.
  Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask = {});
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Called when a run is resumed, before the first step; `progress` is the checkpoint's. The caller
  // loads weights and states into the pipeline's state tables.
  void continue_from(const Progress& progress);
  // The progress of training after the last run() or settle().
  [[nodiscard]] const Progress& progress() const { return progress_; }

  // Prepares a step: counts the targets that the loss is divided by, over all replicas, and sets
  // the gradients to zero. Collective over all ranks. `number`: of the step, 1 for the first of the
  // run. `batches`: the micro-batches of this replica, which stay until run() returns.
  void begin(int64_t number, std::span<const Batch> batches);
  // Takes the step that begin() has prepared. Collective over all ranks. Where the loss or the norm
  // is not finite on any rank, all ranks leave the step out (StepRecord::left_out): weights,
  // optimizer, averages and statistics stay as they are. The record lacks what the caller measures:
  // samples, step_ms and speed.
  //
  // If there is no barrier, the record also lacks norm and loss until the step is settled;
  // take_settled() then gives the complete record. If the step before turns out to be left out and
  // run.on_nonfinite is not "skip", this step is not taken, and the record's step is 0.
  StepRecord run();
  // What the audit (run.audit) has found in the last run(), the same on every rank; the record that
  // run() returned then counts only with Doubt::None and Corrected. Disputed and Computed: nothing
  // was changed, and begin() and run() with the same arguments take the step again. Kept: the
  // weights or states are not to be trusted.
  [[nodiscard]] Doubt doubt() const { return doubt_; }
  // The audit of steps; null where run.audit is 0.
  [[nodiscard]] const StepAudit* audit() const { return audit_.get(); }

  // Waits until the last step is settled. Collective over all ranks. Called before anything but a
  // step reads or writes weights, and at the end of the run. Does nothing with the barrier.
  void settle();
  // The record of the next settled step, in the order of steps; each is returned once. Null: there
  // is none now.
  [[nodiscard]] std::optional<StepRecord> take_settled();
  // Called after a run() that was left out, with its batches still there: a sentence that names the
  // step, the layer and the micro-batch where a number stopped being finite, the same on every
  // rank. Runs a second pass to find them. Collective over all ranks.
  [[nodiscard]] std::string why_left_out();
  // The vote of all ranks in the last settled step, the same on every rank.
  [[nodiscard]] const StepVote& vote() const { return vote_; }

  // Does `work`, an evaluation say, while the moving averages stand in the place of weights and
  // statistics. Without averages it just does `work`.
  void with_averages(const std::function<void()>& work);

 private:
  // The update with the barrier, and without it.
  void update();
  void update_late();
  // Writes to `record` what all ranks know of its step by now.
  void learn(StepRecord& record, const Verdict& verdict);
  // Makes the update. `again`: a second time, with another factor of clipping.
  void change_weights(const StepRecord& record, bool again);
  // StepInput::settle (executor.h).
  [[nodiscard]] Settled settle_before_backwards();
  // Whether there is a barrier.
  [[nodiscard]] bool waits() const { return late_ == nullptr; }

  const Config& config_;
  Pipeline& pipeline_;
  Station station_;
  Network& network_;
  Device& device_;
  AskVote ask_;
  StepVote vote_;
  GradientNorm norm_;
  ExpertLoads loads_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: there are no averages
  std::unique_ptr<StepAudit> audit_;        // null: there are no audits
  bool audited_ = false;                    // whether this step is audited
  Doubt doubt_ = Doubt::None;
  // The members down to gradients_stay_ are for steps without the barrier.
  std::unique_ptr<LateVerdict> late_;   // null: there is a barrier
  Undo undo_;                           // copies of what an update changes
  bool trusts_ = true;                  // the last settled step was neither clipped nor left out
  std::optional<StepRecord> doubtful_;  // the step that is not settled
  bool made_ = false;                   // whether its update was made
  bool gradients_stay_ = false;         // its gradients are kept when the next step begins
  boost::container::static_vector<StepRecord, 2> settled_;  // for take_settled()
  StepInput input_;
  StepRecord record_;
  Progress progress_;
};

}  // namespace penstock
