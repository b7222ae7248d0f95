// runtime/engine/training/step.h -- Step: what one synchronous training step does, from
// micro-batches to updated weights. When steps are taken, and what happens between them, is run.h's
// business.
//
// A rank with optimizer.barrier = false (Qi et al. 2023, Zero Bubble Pipeline Parallelism, section
// 4) updates as soon as its own gradients are complete, as if nothing were to be clipped and all
// were finite, and goes on with the forwards of the next step. Before its first backward all ranks
// learn the norm and the loss. Where the gradient must be clipped or is not finite, every rank
// takes its update back from copies, makes the right one or none, and runs those forwards again:
// the bits are the same as with the barrier. A step after one that was clipped or left out waits
// for the norm, so that a run which is clipped all the time takes nothing back.
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
  // Allocates the optimizer's state and, where optimizer.moving_average asks for them, the averages
  // of the weights and of norms' moving statistics. The averages start at the present weights and
  // statistics, so these are loaded before. `ask` (may be empty) gives this rank's vote, once a
  // step. All arguments must outlive this. Throws Error(Input) on every rank for an unknown
  // optimizer, and for optimizer.barrier = false on a GPU.
  Step(const Config& config, Pipeline& pipeline, const Station& station, AskVote ask = {});
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Called on resuming, before the first step: `progress` is what was done so far. The caller loads
  // the state of that step into the pipeline's tables.
  void continue_from(const Progress& progress);
  // Where training stands after the last run(), or after a settle() since.
  [[nodiscard]] const Progress& progress() const { return progress_; }

  // Collective over all ranks; `batches` are those of this replica. Counts the targets that the
  // loss is divided by, over all replicas, and sets the gradients to zero. `number` is 1 for the
  // first step of the run.
  void begin(int64_t number, std::span<const Batch> batches);
  // Collective, after begin(): the pass through the pipeline, the norm of the gradient, clipping,
  // the optimizer's update and the averages'. The record lacks what only a clock and the data know:
  // samples, step_ms and speed. Where the loss or the norm is not finite on any rank, all ranks
  // leave the step out (StepRecord::left_out): weights, optimizer, averages and statistics are as
  // before. Without the barrier the record is incomplete, and the step counts as taken, until
  // settle() or the next run() has learnt the norm and the loss; take_settled() then gives the
  // whole record. That next run() does nothing where the step before was left out and
  // run.on_nonfinite is "stop"; then its record's step is 0.
  StepRecord run();
  // What the audit (run.audit) has found in the last run(), the same on every rank. Disputed and
  // Computed: nothing was changed, and begin() with the same arguments and run() take the step
  // again. Kept: what this step began or ended with is not to be trusted. After these three the
  // record that run() returned is of no use.
  [[nodiscard]] Doubt doubt() const { return doubt_; }
  // The audit of steps; null where run.audit is 0.
  [[nodiscard]] const StepAudit* audit() const { return audit_.get(); }

  // Collective: makes the last step's update final. To be called before anything but a step reads
  // or writes weights, and at the end. Does nothing where there is a barrier.
  void settle();
  // The record of the next step whose update is final; each is returned once, in the order of
  // steps. Null: there are no more now.
  [[nodiscard]] std::optional<StepRecord> take_settled();
  // Collective, after a run() that was left out, with the batches still there: a sentence that
  // names step, layer and micro-batch, the same on every rank. Runs a second pass to find them.
  [[nodiscard]] std::string why_left_out();
  // What was voted for in the last step that is settled, the same on every rank.
  [[nodiscard]] const StepVote& vote() const { return vote_; }

  // Does `work` while the averages, where there are any, stand in the place of the weights and
  // statistics that they are averages of.
  void with_averages(const std::function<void()>& work);

 private:
  void update();
  void update_late();
  // Fills into `record` what all ranks know now of its step.
  void learn(StepRecord& record, const Verdict& verdict);
  void change_weights(const StepRecord& record, bool again);
  [[nodiscard]] Settled settle_before_backwards();
  [[nodiscard]] bool waits() const { return late_ == nullptr; }

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
  std::unique_ptr<StepAudit> audit_;        // null: none
  bool audited_ = false;                    // this step
  Doubt doubt_ = Doubt::None;
  // The members down to gradients_stay_ are for steps without the barrier.
  std::unique_ptr<LateVerdict> late_;  // null: there is a barrier
  Undo undo_;
  bool trusts_ = true;  // the last step that is settled was neither clipped nor left out
  std::optional<StepRecord> doubtful_;  // the step whose update is not final
  bool made_ = false;                   // that update was made
  bool gradients_stay_ = false;  // gradients of the step before are kept when this one begins
  boost::container::static_vector<StepRecord, 2> settled_;  // not yet taken
  StepInput input_;
  StepRecord record_;
  Progress progress_;
};

}  // namespace penstock
