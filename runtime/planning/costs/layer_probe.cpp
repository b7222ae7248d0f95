#include "runtime/planning/costs/layer_probe.h"

#include <algorithm>

#include "runtime/network/autograd/name_patterns.h"

namespace penstock {
namespace {

constexpr uint64_t kSeed = 1;

// Returns how many bytes of its device's memory a tensor takes.
int64_t bytes_in_use(const Tensor& tensor) {
  return whole_lines(static_cast<int64_t>(tensor.size_bytes()));
}

// Returns the bytes of optimizer states and averages. Weights and gradients do not count.
int64_t state_bytes(StateRange range) {
  int64_t bytes = 0;
  for (const StateEntry* entry : range) {
    for (const KeptBeside& kept : kept_beside(*entry)) bytes += bytes_in_use(kept.tensor);
  }
  return bytes;
}

Tensors gradients_in(StateRange range) {
  Tensors all;
  for (const StateEntry* entry : range) {
    if (entry->gradient) all.push_back(entry->gradient);
  }
  return all;
}

// Returns how many layers of the stage, which has just this one, need no gradients of their inputs:
// 0 or 1.
size_t untrained_layers(const Layer& layer, std::span<const std::string> freeze) {
  return freeze.empty() || trains(layer, freeze) ? 0 : 1;
}

std::vector<int> views(const Tensors& outputs, const Tensors& inputs) {
  std::vector<int> of(outputs.size(), -1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (outputs[i].raw() == inputs[j].raw()) of[i] = static_cast<int>(j);
    }
  }
  return of;
}

Reading operator-(const Reading& after, const Reading& before) {
  return {after.seconds - before.seconds, after.flops - before.flops};
}

}  // namespace

bool trains(const Layer& layer, std::span<const std::string> freeze) {
  ParameterSet set;
  layer.declare(set);
  return std::ranges::any_of(set.declared().parameters,
                             [&](const Parameter& p) { return !matches_any(p.name, freeze); });
}

LayerProbe::LayerProbe(const std::unique_ptr<Layer>& layer, const Shapes& inputs, ProbePlace place,
                       const ProbeSetup& setup, Device& device)
    : first_(place.first),
      device_(device),
      stage_(std::span(&layer, 1), RecomputeMode::Stage, 1, setup.dtype, device,
             {.freeze = setup.optimizer.freeze,
              .first = !place.wanted,
              .untrained = untrained_layers(*layer, setup.optimizer.freeze),
              .one_micro_batch = !setup.micro_batches.several}),
      optimizer_(make_optimizer(setup.optimizer)),
      field_names_(layer->reads()) {
  stage_.allocate(kSeed);
  const StateRange state = stage_.weights().state();
  const int64_t workspace = device.memory().use().current_of(Purpose::Workspace);
  optimizer_->allocate(state, device);
  update_scratch_ = device.memory().use().current_of(Purpose::Workspace) - workspace;
  if (setup.optimizer.moving_average > 0.0) {
    average_ = std::make_unique<WeightAverage>(setup.optimizer.moving_average);
    average_->allocate(state, device);
    const int64_t all = device.memory().use().current_of(Purpose::Optimizer);
    update_scratch_ += all - state_bytes(state);
  }
  int64_t blocks = 0;
  for (const Tensor& gradient : gradients_in(state)) blocks += squares_blocks(gradient.elements());
  squares_ = device.empty({blocks}, DType::F64, Purpose::Workspace);
  const DType entering = place.first ? setup.input.dtype : setup.dtype;
  for (const Shape& shape : inputs)
    input_patterns_.push_back(probe_pattern(shape, entering, device));
  for (const Shape& shape : layer->infer(inputs)) {
    gradient_patterns_.push_back(probe_pattern(shape, setup.dtype, device));
  }
  for (const std::string& name : field_names_) fields_.push_back(probe_field(name, setup, device));
  batch_.pass.seed = kSeed;
  batch_.pass.step = 1;
  batch_.field_names = &field_names_;
  batch_.fields = &fields_;
}

int64_t LayerProbe::in_use() const {
  return device_.memory().use().total_current;
}

Tensors LayerProbe::fresh(const Tensors& patterns) const {
  Tensors all;
  for (const Tensor& from : patterns) {
    all.push_back(device_.empty(from.shape(), from.dtype(), Purpose::Activations));
    device_.pointwise().copy(all.back(), from);
  }
  return all;
}

// Returns the inputs of a forward. They are copies, unless they are data: in a run, too, data stay
// where the loader put them.
Tensors LayerProbe::inputs() const {
  return first_ ? input_patterns_ : fresh(input_patterns_);
}

void LayerProbe::evaluate() {
  batch_.pass.training = false;
  (void)stage_.forward(batch_, inputs(), false);
  batch_.pass.training = true;
}

void LayerProbe::run() {
  (void)stage_.forward(batch_, inputs(), true);
  (void)stage_.backward(batch_, fresh(gradient_patterns_));
  stage_.end_step(1);
}

void LayerProbe::update() {
  stage_.begin_step();
  const Tensors gradients = gradients_in(stage_.weights().state());
  device_.update().squares_by_block(squares_, {gradients.data(), gradients.size()});
  optimizer_->step(0.0, 1.0);
  if (average_) average_->update(batch_.pass.step);
  stage_.end_step(1);
}

ProbeMemory LayerProbe::memory() {
  ProbeMemory memory;
  const int64_t workspace = device_.memory().use().current_of(Purpose::Workspace);
  run();
  const MemoryUse use = device_.memory().use();
  // An empty tensor of gradients still takes 64 bytes. A stage has one for all of its layers, so a
  // single layer is not charged for it.
  StageWeights& weights = stage_.weights();
  const int64_t no_gradients = weights.gradients().all().elements() == 0 ? 64 : 0;
  memory.parameters = use.current_of(Purpose::Parameters);
  memory.gradients = use.current_of(Purpose::Gradients) - no_gradients;
  memory.workspace = use.current_of(Purpose::Workspace) - workspace;
  memory.optimizer = state_bytes(weights.state());
  for (const StateEntry* entry : weights.state()) {
    if (entry->updated_whole) memory.whole = std::max(memory.whole, bytes_in_use(entry->value));
  }
  for (const StateEntry* entry : weights.state()) {
    memory.saved_weights += static_cast<int64_t>(entry->value.size_bytes());
    for (const KeptBeside& kept : kept_beside(*entry)) {
      memory.saved_states += static_cast<int64_t>(kept.tensor.size_bytes());
    }
  }
  memory.update_scratch = update_scratch_;
  read_recording(memory);
  read_halves(memory);
  read_plain_forward(memory);
  return memory;
}

// Returns how many bytes the stage keeps of each tensor, and of its own. Drops the tensors one by
// one: if dropping a tensor frees no memory, the stage keeps that tensor. `before` is how many
// bytes were in use before the outputs were made, inputs included.
Kept LayerProbe::let_go(Tensors outputs, Tensors inputs, int64_t before,
                        const std::vector<int>& view_of) const {
  Kept kept;
  const auto drop = [this](Tensor& tensor) {
    const int64_t bytes = bytes_in_use(tensor);
    const int64_t with = in_use();
    tensor.reset();
    return in_use() < with ? int64_t{0} : bytes;
  };
  kept.own = -before;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t bytes = drop(outputs[i]);
    kept.outputs.push_back(view_of[i] < 0 ? bytes : 0);
    kept.own -= kept.outputs.back();
  }
  kept.own += in_use();
  for (Tensor& input : inputs) kept.inputs.push_back(first_ ? 0 : drop(input));
  return kept;
}

void LayerProbe::read_recording(ProbeMemory& memory) {
  const int64_t empty = in_use();
  Tensors x = inputs();
  const int64_t before = in_use();
  device_.memory().reset_peaks();
  Tensors y = stage_.forward(batch_, x, true);
  memory.record_peak = device_.memory().use().total_peak - empty;
  memory.view_of = views(y, x);
  memory.tape = let_go(std::move(y), std::move(x), before, memory.view_of);

  const int64_t tape = in_use();
  device_.memory().reset_peaks();
  (void)stage_.backward(batch_, fresh(gradient_patterns_));
  memory.backward_peak = device_.memory().use().total_peak - tape;
}

void LayerProbe::read_halves(ProbeMemory& memory) {
  Tensors x = inputs();
  const int64_t before = in_use();
  Tensors y = stage_.forward(batch_, x, true);
  (void)stage_.backward_input(batch_, fresh(gradient_patterns_));
  memory.half = let_go(std::move(y), std::move(x), before, memory.view_of);
  stage_.backward_weight(batch_);

  (void)stage_.forward(batch_, inputs(), true);
  const int64_t tape = in_use();
  device_.memory().reset_peaks();
  (void)stage_.backward_input(batch_, fresh(gradient_patterns_));
  memory.backward_input_peak = device_.memory().use().total_peak - tape;
  stage_.backward_weight(batch_);
}

void LayerProbe::read_plain_forward(ProbeMemory& memory) {
  const int64_t empty = in_use();
  device_.memory().reset_peaks();
  evaluate();
  (void)stage_.forward(batch_, inputs(), false);
  memory.forward_peak = device_.memory().use().total_peak - empty;
  stage_.recompute(batch_);
  (void)stage_.backward(batch_, fresh(gradient_patterns_));
}

ProbeTimes LayerProbe::times(const Meter& meter, const std::function<void()>& chill) {
  const auto timed = [&](const auto& verb) {
    if (chill) chill();
    const Reading before = meter();
    verb();
    return meter() - before;
  };
  Tensors x, y, g, dx;
  const auto forward = [&] {
    x = inputs();
    Tensors entering = std::move(x);
    const Reading taken = timed([&] { y = stage_.forward(batch_, std::move(entering), true); });
    y.clear();
    return taken;
  };
  const auto backward = [&](bool both) {
    g = fresh(gradient_patterns_);
    const Reading taken = timed([&] {
      dx = both ? stage_.backward(batch_, std::move(g))
                : stage_.backward_input(batch_, std::move(g));
    });
    dx.clear();
    return taken;
  };
  ProbeTimes times;
  times.update_s = timed([&] { update(); }).seconds;
  const double fresh = forward().seconds + backward(true).seconds;
  times.forward = forward();
  times.backward = backward(true);
  times.copies_s = fresh - times.forward.seconds - times.backward.seconds;
  (void)forward();
  times.backward_input = backward(false);
  times.backward_weight = timed([&] { stage_.backward_weight(batch_); });
  stage_.end_step(1);
  return times;
}

}  // namespace penstock
