#include "runtime/engine/executor.h"

#include <algorithm>

namespace penstock {

Executor::Executor(const Schedule& schedule, int rank, Parts parts)
    : program_(schedule.program[static_cast<size_t>(rank)]),
      micro_batches_(schedule.micro_batches),
      rank_of_stage_(schedule.rank_of_stage),
      parts_(std::move(parts)) {
  const size_t cells = static_cast<size_t>(schedule.stages) * static_cast<size_t>(micro_batches_);
  keep_tape_.assign(cells, 1);
  activations_.resize(cells);
  outputs_.resize(cells);
  gradients_.resize(cells);
  input_gradients_.resize(cells);
  activation_inlets_.resize(static_cast<size_t>(schedule.stages));
  gradient_inlets_.resize(static_cast<size_t>(schedule.stages));
  events_.reserve(program_.size());
  clock_ = parts_.device->make_clock(program_.size() + 1);
  for (const Instruction& instruction : program_) {
    const auto s = static_cast<size_t>(std::max(instruction.stage, 0));
    if (instruction.op == Op::Recompute) keep_tape_[at(instruction)] = 0;
    if (instruction.op == Op::RecvActivation) {
      Inlet& inlet = activation_inlets_[s];
      inlet.link = parts_.links->boundary(instruction.stage - 1).receive_activation;
      inlet.specs = &parts_.boundaries[s];
      ++inlet.per_run;
    }
    if (instruction.op == Op::RecvGradient) {
      Inlet& inlet = gradient_inlets_[s];
      inlet.link = parts_.links->boundary(instruction.stage).receive_gradient;
      inlet.specs = &parts_.boundaries[s + 1];
      ++inlet.per_run;
    }
  }
}

size_t Executor::at(const Instruction& instruction) const {
  return static_cast<size_t>(instruction.stage) * static_cast<size_t>(micro_batches_) +
         static_cast<size_t>(instruction.micro_batch);
}

void Executor::run(const StepInput& input) {
  events_.clear();
  if (!parts_.device->host_addressable()) upload(input.batches);
  batches_ = uploaded_.empty() ? input.batches : uploaded_;
  for (Inlet& inlet : activation_inlets_) {
    inlet.left = inlet.per_run;
    announce(inlet);
  }
  for (Inlet& inlet : gradient_inlets_) {
    inlet.left = inlet.per_run;
    announce(inlet);
  }
  clock_->mark(0);
  for (size_t i = 0; i < program_.size(); ++i) {
    const bool computes = is_compute(program_[i].op) || program_[i].op == Op::OptimizerStep;
    if (computes) parts_.device->begin_section(parts_.first_section + static_cast<int64_t>(i));
    execute(program_[i], input);
    if (computes) parts_.device->end_section();
    clock_->mark(i + 1);
  }
  // The caller may refill its batches. An update has waited for the device already, to read the
  // loss.
  if (!uploaded_.empty() && !input.update) parts_.device->synchronize();
  for (Batch& batch : uploaded_) batch.tensors.clear();
}

void Executor::upload(std::span<const Batch> batches) {
  Device& device = *parts_.device;
  uploaded_.resize(batches.size());
  for (size_t m = 0; m < batches.size(); ++m) {
    Batch& copy = uploaded_[m];
    copy.names = batches[m].names;
    copy.samples = batches[m].samples;
    copy.tensors.clear();
    for (const Tensor& field : batches[m].tensors) {
      Tensor there = device.empty(field.shape(), field.dtype(), Purpose::Workspace);
      device.upload(there, field);
      copy.tensors.push_back(std::move(there));
    }
  }
}

void Executor::execute(const Instruction& instruction, const StepInput& input) {
  const int s = instruction.stage;
  Stage* stage = s >= 0 ? parts_.stages[static_cast<size_t>(s)] : nullptr;
  switch (instruction.op) {
    case Op::Forward:
      forward(instruction, input);
      return;
    case Op::Recompute:
      stage->recompute(moment_of(instruction, input));
      return;
    case Op::Backward:
      hand_back(instruction, stage->backward(moment_of(instruction, input),
                                             std::move(gradients_[at(instruction)])));
      return;
    case Op::BackwardInput:
      hand_back(instruction, stage->backward_input(moment_of(instruction, input),
                                                   std::move(gradients_[at(instruction)])));
      return;
    case Op::BackwardWeight:
      stage->backward_weight(moment_of(instruction, input));
      return;
    case Op::SendActivation: {
      Tensors& message = outputs_[at(instruction)];
      parts_.links->boundary(s).send_activation->send({message.data(), message.size()});
      message.clear();
      return;
    }
    case Op::SendGradient: {
      Tensors& message = input_gradients_[at(instruction)];
      parts_.links->boundary(s - 1).send_gradient->send({message.data(), message.size()});
      message.clear();
      return;
    }
    case Op::RecvActivation:
      receive(activation_inlets_[static_cast<size_t>(s)], activations_[at(instruction)]);
      return;
    case Op::RecvGradient:
      receive(gradient_inlets_[static_cast<size_t>(s)], gradients_[at(instruction)]);
      return;
    case Op::ReduceGradients:
      if (parts_.reduce != nullptr) {
        stage->begin_reduction(
            [group = parts_.reduce](const Tensor& bucket) { group->start(bucket); });
      }
      return;
    case Op::OptimizerStep:
      if (parts_.reduce != nullptr) parts_.reduce->finish();
      input.update();
      return;
  }
}

Moment Executor::moment_of(const Instruction& instruction, const StepInput& input) const {
  const Batch& batch = batches_[static_cast<size_t>(instruction.micro_batch)];
  return {.training = input.training,
          .seed = input.seed,
          .step = input.step,
          .index = instruction.micro_batch,
          .global_index = input.first_micro_batch + instruction.micro_batch,
          .loss_scale = input.loss_scale,
          .field_names = &batch.names,
          .fields = &batch.tensors};
}

Tensors Executor::take_inputs(const Instruction& instruction) {
  if (instruction.stage > 0) return std::move(activations_[at(instruction)]);
  const Batch& batch = batches_[static_cast<size_t>(instruction.micro_batch)];
  Tensors inputs;
  for (const std::string& field : parts_.inputs) inputs.push_back(batch.field(field));
  return inputs;
}

void Executor::forward(const Instruction& instruction, const StepInput& input) {
  Stage& stage = *parts_.stages[static_cast<size_t>(instruction.stage)];
  const size_t cell = at(instruction);
  Tensors outputs =
      stage.forward(moment_of(instruction, input), take_inputs(instruction), keep_tape_[cell] != 0);
  const auto next = static_cast<size_t>(instruction.stage) + 1;
  const bool here = next < parts_.stages.size() && parts_.stages[next] != nullptr;
  if (here) {
    activations_[cell + static_cast<size_t>(micro_batches_)] = std::move(outputs);
  } else {
    outputs_[cell] = std::move(outputs);
  }
}

void Executor::hand_back(const Instruction& instruction, Tensors gradients) {
  const size_t cell = at(instruction);
  const bool here =
      instruction.stage > 0 && parts_.stages[static_cast<size_t>(instruction.stage) - 1] != nullptr;
  if (here) {
    gradients_[cell - static_cast<size_t>(micro_batches_)] = std::move(gradients);
  } else {
    input_gradients_[cell] = std::move(gradients);
  }
}

void Executor::announce(Inlet& inlet) {
  if (inlet.left == 0) return;
  inlet.link->expect(*inlet.specs);
  --inlet.left;
}

void Executor::receive(Inlet& inlet, Tensors& into) {
  into.resize(inlet.specs->size());
  inlet.link->receive({into.data(), into.size()});
  announce(inlet);
}

void Executor::progress() {
  if (parts_.links != nullptr) parts_.links->progress();
  if (parts_.reduce != nullptr) parts_.reduce->progress();
}

std::span<const TimedInstruction> Executor::events() {
  if (events_.empty()) {
    for (size_t i = 0; i < program_.size(); ++i) {
      events_.push_back({program_[i], clock_->seconds(i), clock_->seconds(i + 1)});
    }
  }
  return events_;
}

double Executor::busy_s() {
  double total = 0.0;
  for (const TimedInstruction& event : events()) {
    if (is_compute(event.instruction.op)) total += event.end - event.start;
  }
  return total;
}

double Executor::span_s() {
  if (events().empty()) return 0.0;
  const TimedInstruction& last = events_.back();
  const bool update = last.instruction.op == Op::OptimizerStep;
  return (update ? last.start : last.end) - events_.front().start;
}

}  // namespace penstock
