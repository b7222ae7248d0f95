#include "runtime/network/stage/stage.h"

#include <algorithm>
#include <utility>

#include "runtime/network/layers/observer.h"
#include "runtime/network/layers/undeclared.h"

namespace penstock {

RecomputeMode recompute_mode_named(const std::string& name) {
  if (name == "none") return RecomputeMode::None;
  if (name == "stage") return RecomputeMode::Stage;
  if (name == "layer") return RecomputeMode::Layer;
  fail_input("unknown pipeline.recompute '" + name + "'; known are none, stage and layer");
}

Stage::Stage(std::span<const std::unique_ptr<Layer>> layers, RecomputeMode mode, int micro_batches,
             DType dtype, Device& device, const StagePlace& place)
    : layers_(layers),
      dtype_(dtype),
      device_(device),
      first_(place.first),
      one_micro_batch_(place.one_micro_batch),
      untrained_(place.first ? place.untrained : 0),
      plan_(plan_stage(layers, mode == RecomputeMode::Layer ? 1 : layers.size(), untrained_)),
      weights_(layers, place.freeze, dtype),
      live_(static_cast<size_t>(micro_batches), nullptr),
      losses_(static_cast<size_t>(micro_batches)) {}

void Stage::allocate(uint64_t seed, const IsDrawn& is_drawn) {
  weights_.allocate(seed, device_, is_drawn);
  if (!one_micro_batch_) return;
  for (Parameter& parameter : weights_.set().declared().parameters) parameter.weight.read_once();
}

StageFacts Stage::facts() const {
  StageFacts facts{layers_.front()->name(), layers_.back()->name(), {}, 0};
  for (const auto& layer : layers_) {
    for (const std::string& field : layer->reads()) {
      if (std::ranges::find(facts.reads, field) == facts.reads.end()) facts.reads.push_back(field);
    }
    facts.past_bytes += layer->past_width() * static_cast<int64_t>(size_of(dtype_));
  }
  return facts;
}

void Stage::begin_step(bool gradients_stay) {
  for (size_t m = 0; m < live_.size(); ++m)
    if (live_[m] != nullptr) release_stash(static_cast<int>(m));
  // The losses of the step before are freed first. If they were freed only when new losses take
  // their place, the new losses would get other memory, and all later addresses would change from
  // step to step.
  for (StageLosses& of_micro_batch : losses_) {
    of_micro_batch.loss.reset();
    of_micro_batch.auxiliary.clear();
  }
  weights_.gradients().begin_step(gradients_stay);
  for (StepSums& sums : weights_.set().declared().step_sums) {
    sums.rows = 0.0;  // a step that was left out has not set it to 0
    sums.remembered.clear();
  }
}

void Stage::end_step(int replicas) {
  const StepEnd end{device_, weights_.set(), replicas};
  for (const auto& layer : layers_) naming_layer(*layer, [&] { layer->end_step(end); });
}

Stage::Stash& Stage::take_stash(int index) {
  Stash*& live = live_[static_cast<size_t>(index)];
  if (live != nullptr) {
    fail_internal("micro-batch " + std::to_string(index) + " is forwarded twice");
  }
  if (spare_.empty()) {
    Stash& stash = stashes_.emplace_back();
    for (const SegmentPlan& plan : plan_.segments) stash.segments.emplace_back().plan = &plan;
    spare_.push_back(&stash);
  }
  live = spare_.back();
  spare_.pop_back();
  return *live;
}

Stage::Stash& Stage::stash_of(int index) {
  Stash* live = live_[static_cast<size_t>(index)];
  if (live == nullptr) {
    fail_internal("micro-batch " + std::to_string(index) + " is differentiated before its forward");
  }
  return *live;
}

void Stage::release_stash(int index) {
  Stash*& live = live_[static_cast<size_t>(index)];
  for (Segment& segment : live->segments) {
    segment.inputs.clear();
    if (segment.tape != nullptr) release_tape(segment);
  }
  spare_.push_back(std::exchange(live, nullptr));
}

Tape& Stage::take_tape() {
  if (spare_tapes_.empty()) {
    const auto part_done = [this](size_t layer) { this->part_done(layer); };
    spare_tapes_.push_back(&tapes_.emplace_back(device_, TapeHooks{progress_, part_done}));
  }
  Tape& tape = *spare_tapes_.back();
  spare_tapes_.pop_back();
  return tape;
}

void Stage::part_done(size_t layer) {
  weights_.gradients().complete(layer);
  for (const Parameter* parameter : weights_.parameters_of(layer)) {
    after_op(device_, parameter->gradient);
    if (recorded_ == nullptr) continue;
    recorded_->gradients.add(parameter->gradient);
    recorded_->names.push_back(&parameter->name);
  }
  if (probed_ != nullptr) show_gradients(layer);
  if (!repeats_) weights_.gradients().layer_done(layer);
}

void Stage::release_tape(Segment& segment) {
  segment.tape->clear();
  spare_tapes_.push_back(segment.tape);
  segment.tape = nullptr;
}

Context Stage::context(const MicroBatch& batch, Tape& tape, bool recomputing) const {
  return {.batch = batch,
          .tape = tape,
          .owned = weights_.set(),
          .dtype = dtype_,
          .recomputing = recomputing,
          .loss_scale = batch.pass.loss_scale};
}

// Returns the data in the type that the layers compute in. Numbers come from the loader in fp32 and
// are converted; ids stay what they are.
Tensor Stage::computable(const Tensor& data) const {
  if (data.dtype() != DType::F32 || dtype_ == DType::F32) return data;
  Tensor narrow = device_.empty(data.shape(), dtype_, Purpose::Activations);
  device_.pointwise().copy(narrow, data);
  return narrow;
}

Tensors Stage::run(Segment& segment, const MicroBatch& batch, bool record, bool recomputing) {
  Tape& tape = take_tape();
  segment.tape = &tape;
  tape.set_recording(record);
  Variables skips(static_cast<size_t>(plan_.skips));
  Variables x = enter(segment, tape, skips);
  Context now = context(batch, tape, recomputing);
  Tensor loss;
  now.loss = &loss;
  now.recompute_follows = batch.pass.training && trains(segment) && !record;
  StageLosses& losses = losses_[static_cast<size_t>(batch.index)];
  if (!recomputing && !repeats_) now.auxiliary_losses = &losses.auxiliary;
  for (size_t i = segment.plan->first; i < segment.plan->last; ++i) {
    if (record) tape.begin_part(i);
    if (plan_.pop[i] >= 0) x.push_back(std::move(skips[static_cast<size_t>(plan_.pop[i])]));
    if (await_weights_) await_weights_(i);
    x = naming_layer(*layers_[i], [&] { return layers_[i]->forward(now, x); });
    if (batch.pass.probe != nullptr && !recomputing) {
      batch.pass.probe->output(layers_[i]->name(), batch.global_index(), {x.data(), x.size()});
    }
    // The tape computes some values again from a variable's source, in place of keeping them.
    // Without a source this layer's output is kept. So what a layer keeps and computes does not
    // depend on its neighbours.
    for (Variable& variable : x) variable.source = nullptr;
    if (plan_.stash[i] < 0) continue;
    skips[static_cast<size_t>(plan_.stash[i])] = std::move(x.back());
    x.pop_back();
  }
  tape.set_recording(false);
  record ? segment.inputs.clear() : release_tape(segment);
  // The loss of a recompute counts where the forward gave none (Context::recompute_follows).
  Tensor& kept = repeats_ ? repeated_loss_ : losses.loss;
  if (loss && (!recomputing || !kept)) kept = std::move(loss);
  for (int skip : segment.plan->leaving) {
    x.push_back(std::move(skips[static_cast<size_t>(skip)]));
  }
  Tensors outputs;
  segment.output_slots.clear();
  for (Variable& variable : x) {
    segment.output_slots.push_back(variable.slot);
    outputs.push_back(std::move(variable.value));
  }
  return outputs;
}

// Puts the segment's inputs on the tape and returns those for its first layer. The other inputs are
// skips, and are put into `skips`.
Variables Stage::enter(Segment& segment, Tape& tape, Variables& skips) const {
  // The data, and what layers that are not trained make of them, need no gradients. So these inputs
  // are not put on the tape.
  const bool data = first_ && segment.plan->first <= untrained_;
  const std::vector<int>& entering = segment.plan->entering;
  const size_t chain = segment.inputs.size() - entering.size();
  Variables x;
  segment.input_slots.clear();
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    const Tensor& input = segment.inputs[i];
    Variable variable = data ? Variable{computable(input)} : tape.output(input, true);
    segment.input_slots.push_back(variable.slot);
    if (i < chain) {
      x.push_back(std::move(variable));
    } else {
      skips[static_cast<size_t>(entering[i - chain])] = std::move(variable);
    }
  }
  return x;
}

Tensors Stage::run_forward(const MicroBatch& batch, Tensors inputs, bool keep_tape) {
  Stash& stash = take_stash(batch.index);
  Tensors skips(static_cast<size_t>(plan_.skips));
  Tensors x = std::move(inputs);
  entering_ = x.size();
  lay_aside(x, plan_.entering, skips);
  for (Segment& segment : stash.segments) {
    take_along(x, segment.plan->entering, skips);
    segment.inputs = std::move(x);
    const bool differentiated = batch.pass.training && trains(segment);
    x = run(segment, batch, differentiated && keep_tape, false);
    lay_aside(x, segment.plan->leaving, skips);
    if (!differentiated) segment.inputs.clear();
  }
  take_along(x, plan_.leaving, skips);
  return x;
}

Tensors Stage::forward(const MicroBatch& batch, Tensors inputs, bool keep_tape) {
  StageLosses& losses = losses_[static_cast<size_t>(batch.index)];
  losses.loss.reset();
  losses.auxiliary.clear();
  Tensors x = run_forward(batch, std::move(inputs), keep_tape);
  if (recorded_forward_ != nullptr) {
    record_made(x, *recorded_forward_);
    recorded_forward_ = nullptr;
  }
  if (batch.pass.training) {
    weights_.gradients().forward_done();
  } else {
    release_stash(batch.index);
  }
  return x;
}

void Stage::recompute(const MicroBatch& batch) {
  Segment& last = stash_of(batch.index).segments.back();
  if (trains(last)) (void)run(last, batch, true, true);
}

// Reports the segment's layers as done. They have no gradients, but a bucket of gradients may wait
// for them.
void Stage::pass_over(const Segment& segment) {
  if (repeats_) return;
  for (size_t i = segment.plan->last; i-- > segment.plan->first;)
    weights_.gradients().layer_done(i);
}

Tensors Stage::run_backward(const MicroBatch& batch, Tensors gradients, Halves halves) {
  Stash& stash = stash_of(batch.index);
  Tensors skips(static_cast<size_t>(plan_.skips));
  Tensors g = std::move(gradients);
  lay_aside(g, plan_.leaving, skips);
  for (size_t s = stash.segments.size(); s-- > 0;) {
    Segment& segment = stash.segments[s];
    if (!trains(segment)) {
      if (halves == Halves::Both) pass_over(segment);
      continue;
    }
    if (segment.tape == nullptr) (void)run(segment, batch, true, true);
    take_along(g, segment.plan->leaving, skips);
    g = differentiate(segment, std::move(g), halves);
    lay_aside(g, segment.plan->entering, skips);
  }
  if (first_) return Tensors(entering_);
  take_along(g, plan_.entering, skips);
  return g;
}

// Returns the gradients of a segment's inputs, computed from those of its outputs. A gradient is
// empty if nobody wants it.
Tensors Stage::differentiate(Segment& segment, Tensors gradients, Halves halves) {
  Tape& tape = *segment.tape;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (segment.output_slots[i] >= 0) {
      tape.give_gradient(segment.output_slots[i], std::move(gradients[i]));
    }
  }
  tape.backward(halves);
  Tensors g;
  for (int slot : segment.input_slots) {
    g.push_back(slot >= 0 ? tape.take_gradient(slot) : Tensor());
  }
  if (halves == Halves::Both) release_tape(segment);
  return g;
}

void Stage::show_gradients(size_t layer) {
  for (const Parameter* parameter : weights_.parameters_of(layer)) {
    probed_->pass.probe->gradient(layers_[layer]->name(), probed_->global_index(), *parameter);
  }
}

Tensors Stage::backward(const MicroBatch& batch, Tensors gradients) {
  probed_ = batch.pass.probe != nullptr ? &batch : nullptr;
  Tensors g = run_backward(batch, std::move(gradients), Halves::Both);
  end_recording(losses_[static_cast<size_t>(batch.index)].loss);
  weights_.gradients().backward_done();
  release_stash(batch.index);
  return g;
}

Tensors Stage::backward_input(const MicroBatch& batch, Tensors gradients) {
  return run_backward(batch, std::move(gradients), Halves::Input);
}

void Stage::backward_weight(const MicroBatch& batch) {
  Stash& stash = stash_of(batch.index);
  probed_ = batch.pass.probe != nullptr ? &batch : nullptr;
  for (size_t s = stash.segments.size(); s-- > 0;) {
    Segment& segment = stash.segments[s];
    if (!trains(segment)) {
      pass_over(segment);
      continue;
    }
    segment.tape->backward(Halves::Weight);
    release_tape(segment);
  }
  end_recording(losses_[static_cast<size_t>(batch.index)].loss);
  weights_.gradients().backward_done();
  release_stash(batch.index);
}

void Stage::record_gradients(CellSums& sums) {
  weights_.gradients().keep_copy();
  recorded_ = &sums;
}

void Stage::record_forward(CellSums& sums) {
  weights_.gradients().keep_sums();
  recorded_forward_ = &sums;
}

// Ends what shows or records gradients. The loss is recorded last, since it may be computed in the
// backward.
void Stage::end_recording(const Tensor& loss) {
  if (recorded_ != nullptr && loss) recorded_->outputs.add(loss);
  probed_ = nullptr;
  recorded_ = nullptr;
}

void Stage::record_made(const Tensors& outputs, CellSums& sums) {
  for (const Tensor& output : outputs) sums.outputs.add(output);
  for (const StepSums& each : weights_.set().declared().step_sums) sums.outputs.add(each.value);
}

void Stage::repeat(const MicroBatch& batch, const Tensors& inputs, const Tensors& gradients,
                   CellSums& sums) {
  repeats_ = true;
  recorded_ = &sums;
  boost::container::small_vector<double, 16> rows;
  for (const StepSums& each : weights_.set().declared().step_sums) rows.push_back(each.rows);
  weights_.gradients().swap_copy();
  weights_.gradients().swap_sums();
  // A single segment keeps its tape. It is differentiated at once, and without a tape it would be
  // run again first.
  Tensors outputs = run_forward(batch, inputs, plan_.segments.size() == 1);
  record_made(outputs, sums);
  outputs.clear();
  for (const Tensor& gradient : run_backward(batch, gradients, Halves::Both)) {
    sums.input_gradients.add(gradient);
  }
  end_recording(repeated_loss_);
  release_stash(batch.index);
  weights_.gradients().swap_sums();
  weights_.gradients().swap_copy();
  size_t at = 0;
  for (StepSums& each : weights_.set().declared().step_sums) each.rows = rows[at++];
  repeated_loss_.reset();
  repeats_ = false;
}

}  // namespace penstock
