// runtime/network/stage/stage.h -- Stage: a run of layers with everything they own on one device.
//
// A stage owns its weights and the stashes of the micro-batches in flight. It knows nothing of
// schedules or ranks: the executor says what to do with which micro-batch, in which order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/network/layers/layer.h"
#include "runtime/network/stage/cell_sums.h"
#include "runtime/network/stage/segments.h"
#include "runtime/network/stage/stage_weights.h"

namespace penstock {

// Activation checkpointing (GPipe, section 2.3): the data that a forward keeps for the backward of
// the same micro-batch.
enum class RecomputeMode : uint8_t {
  None,   // the whole tape
  Stage,  // the stage's input only; the stage is run again
  Layer,  // every layer's input; the layers are run again one at a time
};
// "none", "stage" or "layer".
[[nodiscard]] RecomputeMode recompute_mode_named(const std::string& name);

// The place of a stage in its network and run, as far as its work depends on it.
struct StagePlace {
  // Parameters whose names match one of these patterns (name_patterns.h) are not trained.
  std::span<const std::string> freeze = {};
  // True: the inputs are data or come from layers that train nothing, so their gradients are not
  // wanted. Then the first `untrained` layers here have no backward either.
  bool first = false;
  size_t untrained = 0;
  // True: there is one micro-batch between two updates, so a form of a weight (a packed copy) that
  // only its forward or only its backward reads need not be kept (Weight::read_once).
  bool one_micro_batch = false;
};

// The facts that follow from the layers of a stage.
struct StageFacts {
  std::string first_layer, last_layer;  // names
  std::vector<std::string> reads;       // batch fields
  // Bytes that the layers keep of each position of a row while tokens are generated
  // (runtime/network/layers/past.h).
  int64_t past_bytes = 0;
};

// The losses of one micro-batch in one stage.
struct StageLosses {
  // F64 [3]: sum of losses, targets guessed right, targets; empty in stages without a loss.
  Tensor loss;
  Tensors auxiliary;  // the same of each auxiliary head; none after an evaluation
};

class Stage {
 public:
  // `micro_batches` is the number in a step, `dtype` the type that the layers compute in. `layers`
  // must outlive the stage; other stages may hold them too.
  Stage(std::span<const std::unique_ptr<Layer>> layers, RecomputeMode mode, int micro_batches,
        DType dtype, Device& device, const StagePlace& place = {});

  // Gives weights and gradients memory and initial values (StageWeights::allocate()).
  void allocate(uint64_t seed, const IsDrawn& is_drawn = {});
  // `progress` is called between ops, so that messages of other ranks move.
  void set_progress(const std::function<void()>& progress) { progress_ = progress; }
  // Called before each layer's forward: returns when the weights that layers up to this one read
  // have come from the replicas that updated them.
  using AwaitWeights = std::function<void(size_t layer)>;
  void set_await_weights(AwaitWeights await) { await_weights_ = std::move(await); }

  // ---- the verbs of a schedule
  // Tuples hold what passes between neighbouring layers, then the skips that cross the stage's end:
  // inputs the skips popped here, in the order of their pops, outputs those stashed here, in the
  // order of their stashes. Tuples of gradients match those of tensors. forward() returns the
  // outputs. In training it stashes what the mode asks for, or everything with `keep_tape` (no
  // Recompute will come).
  [[nodiscard]] Tensors forward(const MicroBatch& batch, Tensors inputs, bool keep_tape);
  // Runs layers again with the tape on: all of them in mode Stage, the last one in mode Layer,
  // where backward() runs the others again.
  void recompute(const MicroBatch& batch);
  // Returns the gradients of the inputs (empty tensors where nobody wants them) for those of the
  // outputs, and adds to the parameters' gradients; the stash is gone afterwards.
  [[nodiscard]] Tensors backward(const MicroBatch& batch, Tensors gradients);
  // The two halves of backward(), one after the other.
  [[nodiscard]] Tensors backward_input(const MicroBatch& batch, Tensors gradients);
  void backward_weight(const MicroBatch& batch);

  // ---- audits: what a micro-batch did is done again (runtime/engine/pipeline/audit/audit.h)
  // Called before the forward of a micro-batch: copies the step sums, and has the forward take the
  // checksums of what it makes.
  void record_forward(CellSums& sums);
  // Called before the weight half of a micro-batch, or the backward that includes it: copies the
  // gradients, and has that half take the checksums of each layer's gradients once it has added to
  // them.
  void record_gradients(CellSums& sums);
  // Runs the forward and the backward of that micro-batch once more, from its inputs and the
  // gradients of its outputs, and adds to the copies that record_forward() and record_gradients()
  // have kept. Takes the checksums that the first execution took; the caller takes those of
  // `inputs` and `gradients`. The micro-batch must have been differentiated, so that it has no
  // stash. Changes nothing that anybody else reads: the gradients, the sums of the step and the
  // losses stay as they are.
  void repeat(const MicroBatch& batch, const Tensors& inputs, const Tensors& gradients,
              CellSums& sums);

  // ---- once per step
  // Sets gradients and step sums to zero, and forgets the last step's losses and forwards whose
  // backwards never came. `gradients_stay`: the gradients, which the last update may need once
  // more, stay until StageGradients::begin_gradients().
  void begin_step(bool gradients_stay = false);
  void end_step(int replicas);  // folds the step sums into the layers' buffers

  // ---- what there is to read
  // The losses of a micro-batch in its last forward.
  [[nodiscard]] const StageLosses& losses(int index) const {
    return losses_[static_cast<size_t>(index)];
  }
  [[nodiscard]] StageWeights& weights() { return weights_; }
  [[nodiscard]] StageFacts facts() const;

 private:
  struct Segment {
    const SegmentPlan* plan = nullptr;
    Tensors inputs;        // kept for a recompute; empty once the tape is there
    Tape* tape = nullptr;  // null: not recorded
    boost::container::small_vector<int, 4> input_slots, output_slots;
  };
  struct Stash {
    std::deque<Segment> segments;
  };

  [[nodiscard]] bool trains(const Segment& segment) const {
    return segment.plan->last > untrained_;
  }
  void pass_over(const Segment& segment);
  void show_gradients(size_t layer);
  Stash& take_stash(int index);
  Stash& stash_of(int index);
  void release_stash(int index);
  Tape& take_tape();
  void release_tape(Segment& segment);
  [[nodiscard]] Context context(const MicroBatch& batch, Tape& tape, bool recomputing) const;
  [[nodiscard]] Tensor computable(const Tensor& data) const;
  [[nodiscard]] Tensors run(Segment& segment, const MicroBatch& batch, bool record,
                            bool recomputing);
  [[nodiscard]] Variables enter(Segment& segment, Tape& tape, Variables& skips) const;
  [[nodiscard]] Tensors differentiate(Segment& segment, Tensors gradients, Halves halves);
  [[nodiscard]] Tensors run_forward(const MicroBatch& batch, Tensors inputs, bool keep_tape);
  [[nodiscard]] Tensors run_backward(const MicroBatch& batch, Tensors gradients, Halves halves);
  void part_done(size_t layer);
  void record_made(const Tensors& outputs, const Tensor& loss, CellSums& sums);

  std::span<const std::unique_ptr<Layer>> layers_;
  DType dtype_;
  Device& device_;
  bool first_;
  bool one_micro_batch_;
  size_t untrained_;     // layers at the beginning, where first_
  size_t entering_ = 0;  // tensors of the tuple of inputs
  StagePlan plan_;
  std::function<void()> progress_;
  AwaitWeights await_weights_;  // empty: all weights are here at all times
  StageWeights weights_;
  std::deque<Stash> stashes_;  // every one ever needed
  std::vector<Stash*> spare_;  // stashes that are not in use
  std::deque<Tape> tapes_;     // all tapes ever needed
  std::vector<Tape*> spare_tapes_;
  std::vector<Stash*> live_;            // by micro-batch; null when none
  std::vector<StageLosses> losses_;     // by micro-batch
  const MicroBatch* probed_ = nullptr;  // in a backward whose pass has a probe
  CellSums* recorded_ = nullptr;        // in a weight half whose gradients are recorded
  CellSums* recorded_forward_ = nullptr;
  bool repeats_ = false;  // in repeat()
  Tensor repeated_loss_;  // the loss of repeat(), where this stage holds it
};

}  // namespace penstock
