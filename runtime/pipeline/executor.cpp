#include "runtime/pipeline/executor.h"

#include <algorithm>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

// By stage: whether this rank holds it and it reads batch fields.
std::vector<bool> readers(const Executor::Parts& parts) {
  std::vector<bool> reads;
  for (const Stage* stage : parts.stages) {
    const bool enters = reads.empty();  // stage 0
    reads.push_back(stage != nullptr && (enters || parts.chooses_words || !stage->reads().empty()));
  }
  return reads;
}

// "stage 1, micro-batch 3, step 17": where a run was when it failed.
std::string place_of(const Instruction& instruction, int64_t step) {
  std::string place;
  if (instruction.stage >= 0) place += "stage " + std::to_string(instruction.stage) + ", ";
  if (instruction.micro_batch >= 0) {
    place += "micro-batch " + std::to_string(instruction.micro_batch) + ", ";
  }
  return place + "step " + std::to_string(step);
}

}  // namespace

Executor::Executor(const Schedule& schedule, int rank, Parts parts)
    : program_(schedule.program[static_cast<size_t>(rank)]),
      micro_batches_(schedule.micro_batches),
      rank_of_stage_(schedule.rank_of_stage),
      parts_(std::move(parts)),
      mailbox_(schedule, parts_.skips),
      tuples_(mailbox_.tuples(parts_.boundaries)),
      activation_inlets_(tuples_.size()),
      gradient_inlets_(tuples_.size()),
      fields_(program_, readers(parts_), *parts_.device),
      clock_(parts_.device->make_clock(program_.size() + 1)) {
  keep_tape_.assign(static_cast<size_t>(schedule.stages) * static_cast<size_t>(micro_batches_), 1);
  events_.reserve(program_.size());
  for (const Instruction& instruction : program_) {
    if (instruction.op == Op::Recompute) keep_tape_[at(instruction)] = 0;
    const bool activation = instruction.op == Op::RecvActivation;
    if (!activation && instruction.op != Op::RecvGradient) continue;
    const int edge = mailbox_.edges().of(instruction);
    const EdgeLinks& links = parts_.links->of(edge);
    const auto e = static_cast<size_t>(edge);
    Inlet& inlet = activation ? activation_inlets_[e] : gradient_inlets_[e];
    inlet.link = activation ? links.receive_activation : links.receive_gradient;
    inlet.specs = &tuples_[e];
    ++inlet.per_run;
  }
}

size_t Executor::at(const Instruction& instruction) const {
  return static_cast<size_t>(instruction.stage) * static_cast<size_t>(micro_batches_) +
         static_cast<size_t>(instruction.micro_batch);
}

void Executor::run(const StepInput& input) {
  events_.clear();
  fields_.begin(input.batches);
  for (Inlet& inlet : activation_inlets_) {
    inlet.left = inlet.per_run;
    announce(inlet);
  }
  for (Inlet& inlet : gradient_inlets_) {
    inlet.left = inlet.per_run;
    announce(inlet);
  }
  run_program(input);
  parts_.links->hand_over();
  // The caller may refill its batches. An update has waited for the device already, to read the
  // loss.
  if (fields_.uploads() && !input.update) parts_.device->synchronize();
  fields_.end();
}

void Executor::run_program(const StepInput& input) {
  size_t i = 0;
  try {
    clock_->mark(0);
    for (; i < program_.size(); ++i) {
      fields_.before(i);
      const bool computes = is_compute(program_[i].op) || program_[i].op == Op::OptimizerStep;
      if (computes) parts_.device->begin_section(parts_.first_section + static_cast<int64_t>(i));
      execute(program_[i], input);
      if (computes) parts_.device->end_section();
      fields_.after(i);
      clock_->mark(i + 1);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Peer) throw;
    // A link knows its edge; which micro-batch of which step it was, only this room does.
    throw Error(ErrorKind::Peer,
                std::string(error.what()) + " (" + place_of(program_[i], input.pass.step) + ")",
                error.scope());
  }
}

void Executor::execute(const Instruction& instruction, const StepInput& input) {
  const int s = instruction.stage;
  const int m = instruction.micro_batch;
  Stage* stage = s >= 0 ? parts_.stages[static_cast<size_t>(s)] : nullptr;
  const auto edge = [&] { return mailbox_.edges().of(instruction); };
  switch (instruction.op) {
    case Op::Forward:
      forward(instruction, input);
      return;
    case Op::Recompute:
      stage->recompute(micro_batch_of(instruction, input));
      return;
    case Op::Backward:
      mailbox_.put_input_gradients(s, m,
                                   stage->backward(micro_batch_of(instruction, input),
                                                   mailbox_.take_output_gradients(s, m)));
      return;
    case Op::BackwardInput:
      mailbox_.put_input_gradients(s, m,
                                   stage->backward_input(micro_batch_of(instruction, input),
                                                         mailbox_.take_output_gradients(s, m)));
      return;
    case Op::BackwardWeight:
      stage->backward_weight(micro_batch_of(instruction, input));
      return;
    case Op::SendActivation:
      send(*parts_.links->of(edge()).send_activation, mailbox_.forward(edge(), m));
      return;
    case Op::SendGradient:
      fill_unwanted(edge(), mailbox_.back(edge(), m));
      send(*parts_.links->of(edge()).send_gradient, mailbox_.back(edge(), m));
      return;
    case Op::RecvActivation:
      receive(activation_inlets_[static_cast<size_t>(edge())], mailbox_.forward(edge(), m));
      return;
    case Op::RecvGradient:
      receive(gradient_inlets_[static_cast<size_t>(edge())], mailbox_.back(edge(), m));
      return;
    case Op::ReduceGradients:
      if (parts_.reduce != nullptr) {
        stage->begin_reduction(
            [group = parts_.reduce](const Tensor& bucket) { group->start(bucket); });
      }
      return;
    case Op::OptimizerStep:
      parts_.links->hand_over();
      if (parts_.reduce != nullptr) parts_.reduce->finish();
      if (parts_.tied != nullptr) parts_.tied->add_up();
      input.update();
      return;
  }
}

MicroBatch Executor::micro_batch_of(const Instruction& instruction, const StepInput& input) const {
  const Batch& batch = fields_.batch(instruction.micro_batch);
  return {.pass = input.pass,
          .index = instruction.micro_batch,
          .field_names = &batch.names,
          .fields = &batch.tensors,
          .decoding = input.decoding.empty()
                          ? nullptr
                          : &input.decoding[static_cast<size_t>(instruction.micro_batch)]};
}

Tensors Executor::take_inputs(const Instruction& instruction) {
  if (instruction.stage > 0) {
    return mailbox_.take_inputs(instruction.stage, instruction.micro_batch);
  }
  const Batch& batch = fields_.batch(instruction.micro_batch);
  Tensors inputs;
  for (const std::string& field : parts_.inputs) inputs.push_back(batch.field(field));
  return inputs;
}

void Executor::forward(const Instruction& instruction, const StepInput& input) {
  Stage& stage = *parts_.stages[static_cast<size_t>(instruction.stage)];
  mailbox_.put_outputs(instruction.stage, instruction.micro_batch,
                       stage.forward(micro_batch_of(instruction, input), take_inputs(instruction),
                                     keep_tape_[at(instruction)] != 0));
}

void Executor::send(SendLink& link, Tensors& message) {
  link.send({message.data(), message.size()});
  message.clear();
}

// A schedule sends gradients to every stage, also to those that train nothing and make none.
void Executor::fill_unwanted(int edge, Tensors& gradients) {
  const std::vector<TensorSpec>& specs = tuples_[static_cast<size_t>(edge)];
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i]) continue;
    gradients[i] = parts_.device->zeros(specs[i].shape, specs[i].dtype, Purpose::Activations);
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
