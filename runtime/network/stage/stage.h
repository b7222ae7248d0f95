// runtime/network/stage/stage.h -- Stage: one stage of the pipeline, that is, a run of neighbouring
// layers with their weights, gradients and kept activations on one device.
//
// It computes; it neither sends nor decides. The executor of the schedule (runtime/engine/pipeline)
// tells it which micro-batch to run forward or backward next, hands it the tensors that came from
// the stage before, and sends on what it returns. For one micro-batch the order of calls is
//   forward, [recompute,] backward                         or
//   forward, [recompute,] backward_input, backward_weight
// and calls for different micro-batches may be mixed, as long as forwards, and also backwards, come
// in ascending order of micro-batches. In each step: begin_step(), all these calls, the optimizer's
// update, end_step(). The stash is what a forward keeps for the backward of the same micro-batch.
// Other words: docs/concepts.md.
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

// What a forward keeps for the backward of the same micro-batch (activation checkpointing, GPipe,
// section 2.3).
enum class RecomputeMode : uint8_t {
  None,   // the whole tape, with all activations that the backward needs
  Stage,  // the stage's input only; the forward of the whole stage is run again
  Layer,  // every layer's input; the layers are run again one at a time, just before their backward
};
// The mode called "none", "stage" or "layer". Throws Error(Input) for other names.
[[nodiscard]] RecomputeMode recompute_mode_named(const std::string& name);

// What a stage is told of the network and the run around it.
struct StagePlace {
  // Parameters whose names these patterns choose (name_patterns.h) are not trained.
  std::span<const std::string> freeze = {};
  // True: the inputs of this stage are data, or come from layers before which nothing is trained,
  // so nobody wants the gradients of the inputs. The first `untrained` layers of this stage then
  // have no backward either, since they and all before them train nothing.
  bool first = false;
  size_t untrained = 0;
  // True: a step has one micro-batch. Kernels may then drop their packed copy of a weight after one
  // use (Weight::read_once()), which saves memory and changes no result.
  bool one_micro_batch = false;
};

// What others need to know of the layers of a stage.
struct StageFacts {
  std::string first_layer, last_layer;  // names
  std::vector<std::string> reads;       // names of the fields of the data that the layers read
  // Bytes of the key/value cache for each position of a row while tokens are generated
  // (runtime/network/layers/past.h).
  int64_t past_bytes = 0;
};

// The losses of one micro-batch in one stage. Their numbers may be written by its backward
// (ClassifierLoss).
struct StageLosses {
  // F64 [3]: sum of losses, targets guessed right, targets; empty in stages without a loss.
  Tensor loss;
  Tensors auxiliary;  // the same of each auxiliary head of this stage; none after an evaluation
};

class Stage {
 public:
  // `layers`: those of this stage, in order; they must outlive it, and other Stage objects may use
  // the same ones. `micro_batches` is the number M in a step, `dtype` the type in which the layers
  // compute (F32 or BF16).
  Stage(std::span<const std::unique_ptr<Layer>> layers, RecomputeMode mode, int micro_batches,
        DType dtype, Device& device, const StagePlace& place = {});

  // Gives weights and gradients memory and initial values (StageWeights::allocate()).
  void allocate(uint64_t seed, const IsDrawn& is_drawn = {});
  // Called before the first forward: `progress` is then called between ops, so that the caller can
  // move messages on meanwhile.
  void set_progress(const std::function<void()>& progress) { progress_ = progress; }
  // `await` is then called before the forward of each layer, with the layer's number from 0 within
  // the stage. It returns when this and all earlier layers have their new weights, parts of which
  // other replicas have updated and send (docs/sharing.md).
  using AwaitWeights = std::function<void(size_t layer)>;
  void set_await_weights(AwaitWeights await) { await_weights_ = std::move(await); }

  // ---- the instructions of a schedule
  //
  // A tuple of inputs is the outputs of the layer before this stage, then the skips that this stage
  // pops and other stages stashed, in the order in which its layers pop them. A tuple of outputs is
  // the outputs of the last layer, then the skips that this stage stashes for other stages, in the
  // order in which its layers stash them. A tuple of gradients has one tensor for each of these.

  // Returns the outputs. In training it keeps for the backward what the recompute mode says or,
  // with `keep_tape`, the whole tape: the schedule then has no recompute() for this micro-batch.
  [[nodiscard]] Tensors forward(const MicroBatch& batch, Tensors inputs, bool keep_tape);
  // Runs the forward again and keeps the tape, before the gradients have arrived: of all layers in
  // mode Stage, of the last layer in mode Layer, where backward() runs the other layers again.
  void recompute(const MicroBatch& batch);
  // Takes the gradients of the outputs, adds to the parameters' gradients, and returns the
  // gradients of the inputs: empty tensors where nobody wants them (StagePlace::first). Frees the
  // stash.
  [[nodiscard]] Tensors backward(const MicroBatch& batch, Tensors gradients);
  // The two halves of backward(): the first one returns the gradients of the inputs, the second one
  // adds to the parameters' gradients and frees the stash.
  [[nodiscard]] Tensors backward_input(const MicroBatch& batch, Tensors gradients);
  void backward_weight(const MicroBatch& batch);

  // ---- audits: a micro-batch is executed a second time and the bits are compared
  // (docs/audits.md). Order: record_forward(), forward(), record_gradients(), the backward,
  // repeat().

  // Called right before the forward of the micro-batch: copies the step sums as they are, and has
  // that forward append to sums.outputs.
  void record_forward(CellSums& sums);
  // Called right before the backward() or backward_weight() of the micro-batch: copies the
  // parameters' gradients as they are, and has that backward append each layer's gradients, once it
  // has added to them, to sums.gradients and sums.names, and at last the loss to sums.outputs.
  void record_gradients(CellSums& sums);
  // Called after the backward of the micro-batch: runs its forward and backward once more, from the
  // same `inputs` and the same `gradients` of the outputs. It adds to the copies that
  // record_forward() and record_gradients() made, so that the gradients, the step sums and the
  // losses of the step stay as they are. Appends to the outputs, input_gradients, gradients and
  // names of `sums`; the caller adds sums.inputs and sums.output_gradients.
  void repeat(const MicroBatch& batch, const Tensors& inputs, const Tensors& gradients,
              CellSums& sums);

  // ---- once per step
  // Called before the first forward of a step. Sets gradients and step sums to zero, and forgets
  // the losses of the last step and stashes that no backward has freed. `gradients_stay`: the
  // gradients of the last step, which its update may need once more (docs/late_updates.md), stay
  // until StageGradients::begin_gradients().
  void begin_step(bool gradients_stay = false);
  // Called after the update, when the step sums have been summed over `replicas` replicas: calls
  // Layer::end_step() of each layer.
  void end_step(int replicas);

  // ---- what there is to read
  // The losses of micro-batch `index` of this replica, from its last forward and, in training,
  // backward.
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
  void end_recording(const Tensor& loss);
  void record_made(const Tensors& outputs, CellSums& sums);

  std::span<const std::unique_ptr<Layer>> layers_;
  DType dtype_;
  Device& device_;
  bool first_;
  bool one_micro_batch_;
  size_t untrained_;     // how many layers at the beginning have no backward
  size_t entering_ = 0;  // number of tensors in the tuple of inputs
  StagePlan plan_;
  std::function<void()> progress_;
  AwaitWeights await_weights_;  // empty: the weights need not be waited for
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
