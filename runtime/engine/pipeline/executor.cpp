#include "runtime/engine/pipeline/executor.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kernels/error.h"
#include "kernels/profiler.h"
#include "runtime/planning/schedule/proof/leading_forwards.h"

namespace penstock {
namespace {

// Returns, for each stage, whether this rank holds the stage and the stage reads batch fields.
std::vector<bool> readers(const Executor::Parts& parts) {
  std::vector<bool> reads;
  for (const Stage* stage : parts.stages) {
    const bool enters = reads.empty();  // stage 0 reads the network's inputs
    reads.push_back(stage != nullptr &&
                    (enters || parts.chooses_words || !stage->facts().reads.empty()));
  }
  return reads;
}

// Returns the place of an instruction in the run, for example "stage 1, micro-batch 3, step 17".
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
    : micro_batches_(schedule.micro_batches),
      parts_(std::move(parts)),
      held_stages_(static_cast<size_t>(schedule.stages)),
      fields_(schedule.program[static_cast<size_t>(rank)], readers(parts_), *parts_.device),
      audit_(schedule.program[static_cast<size_t>(rank)], rank, schedule.micro_batches,
             *parts_.device, parts_.auditors),
      clock_(parts_.device->make_clock(schedule.program[static_cast<size_t>(rank)].size() + 2)),
      activity_log_(parts_.activity_log, schedule.program[static_cast<size_t>(rank)],
                    parts_.world_ranks, *clock_, !parts_.device->host_addressable()) {
  const Edges edges(schedule);
  open_channels(edges, make_routes(edges, parts_.traffic));
  list_tasks(schedule.program[static_cast<size_t>(rank)], edges);
  const LeadingForwards leading = leading_forwards(schedule);
  settled_before_ = leading.end[static_cast<size_t>(rank)];
  for (size_t e = 0; e < activations_.size(); ++e) activations_[e].surplus = leading.surplus[e];
  events_.reserve(tasks_.size());
}

void Executor::open_channels(const Edges& edges, const std::vector<Route>& routes) {
  for (size_t s = 0; s < held_stages_.size(); ++s) {
    held_stages_[s].stage = parts_.stages[s];
    if (s == 0) held_stages_[s].input_count = parts_.traffic.boundaries[0].size();
  }
  activations_.resize(routes.size());
  gradients_.resize(routes.size());
  for (int e = 0; e < edges.count(); ++e) {
    const auto edge = static_cast<size_t>(e);
    const Route& route = routes[edge];
    HeldStage& from = held_stages_[static_cast<size_t>(route.from)];
    HeldStage& to = held_stages_[static_cast<size_t>(route.to)];
    from.output_count += route.tensors.size();
    to.input_count += route.tensors.size();
    if (from.stage == nullptr && to.stage == nullptr) continue;
    const EdgeLinks& links = parts_.links->of(e);
    activations_[edge].channel =
        std::make_unique<Channel>(Channel::Message{route.tensors, route.given, route.taken},
                                  micro_batches_, links.send_activation, links.receive_activation);
    gradients_[edge].channel = std::make_unique<Channel>(
        route.differentiated ? Channel::Message{route.tensors, route.taken, route.given}
                             : Channel::token(),
        micro_batches_, links.send_gradient, links.receive_gradient);
    from.outputs.push_back(activations_[edge].channel.get());
    to.inputs.push_back(activations_[edge].channel.get());
    from.output_gradients.push_back(gradients_[edge].channel.get());
    to.input_gradients.push_back(gradients_[edge].channel.get());
  }
}

void Executor::list_tasks(const std::vector<Instruction>& program, const Edges& edges) {
  std::set<std::pair<int, int>> recomputed;  // pairs of stage and micro-batch
  for (const Instruction& instruction : program) {
    if (instruction.op == Op::Recompute)
      recomputed.emplace(instruction.stage, instruction.micro_batch);
  }
  for (const Instruction& instruction : program) {
    Task& task = tasks_.emplace_back();
    task.instruction = instruction;
    task.name = text(instruction);
    if (instruction.stage >= 0) task.held = &held_stages_[static_cast<size_t>(instruction.stage)];
    task.keep_tape = !recomputed.contains({instruction.stage, instruction.micro_batch});
    const Op op = instruction.op;
    const bool activation = op == Op::SendActivation || op == Op::RecvActivation;
    const bool receives = op == Op::RecvActivation || op == Op::RecvGradient;
    if (!activation && !receives && op != Op::SendGradient) continue;
    const auto edge = static_cast<size_t>(edges.of(instruction));
    Passage& passage = activation ? activations_[edge] : gradients_[edge];
    task.channel = passage.channel.get();
    if (receives) ++passage.received;
  }
}

bool Executor::run(const StepInput& input) {
  events_.clear();
  bytes_in_use_.clear();
  summed_ = false;
  fields_.begin(input.batches);
  input.audits ? audit_.begin(input.pass.seed, input.pass.step) : audit_.end();
  for (auto* passages : {&activations_, &gradients_}) {
    for (Passage& passage : *passages) {
      if (passage.channel) passage.channel->begin(passage.received);
    }
  }
  const bool complete = run_program(input);
  parts_.links->hand_over();
  // The caller can refill its batches once this returns, so the uploads must have ended. A step
  // with an update has already waited for the device, to read the loss.
  if (fields_.uploads() && !input.update) parts_.device->synchronize();
  fields_.end();
  return complete;
}

bool Executor::run_program(const StepInput& input) {
  size_t i = 0;
  try {
    clock_->mark(0);
    activity_log_.start(input.pass.step);
    while (i < tasks_.size()) {
      const Settled settled = i == settled_before_ && input.settle ? input.settle() : Settled::GoOn;
      if (settled != Settled::GoOn) {
        start_again(input, settled == Settled::Again);
        if (settled == Settled::Stop) return false;
        i = 0;
        // If forwards were run before `settle` (settled_before_ > 0), the loop runs them again.
        // Otherwise nothing is to be run again, and the loop goes straight on: `continue` would ask
        // `settle` a second time.
        if (settled_before_ > 0) continue;
      }
      activity_log_.begin(i);
      fields_.before(i);
      const Op op = tasks_[i].instruction.op;
      // A device records what an instruction does, and replays the recording in later steps. An
      // instruction that is probed or audited does more than in other steps, so it is not recorded.
      const bool audited =
          op == Op::OptimizerStep ? input.audits : audit_.covers(tasks_[i].instruction);
      const bool computes =
          (is_compute(op) || op == Op::OptimizerStep) && input.pass.probe == nullptr && !audited;
      begin_profiler_range(tasks_[i].name.c_str());
      if (BitFlips::instance().armed()) disturb(tasks_[i], input);
      if (computes) parts_.device->begin_section(parts_.first_section + static_cast<int64_t>(i));
      execute(tasks_[i], input);
      if (computes) parts_.device->end_section();
      if (BitFlips::instance().armed()) BitFlips::instance().end();
      end_profiler_range();
      fields_.after(i);
      clock_->mark(i + 1);
      activity_log_.end(i);
      if (records_memory_) {
        bytes_in_use_.push_back(parts_.device->memory().use().total_current);
      }
      ++i;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Peer) throw;
    // The link that failed knows only its edge, so the micro-batch and the step are added here.
    throw Error(
        ErrorKind::Peer,
        std::string(error.what()) + " (" + place_of(tasks_[i].instruction, input.pass.step) + ")",
        error.scope());
  }
  return true;
}

void Executor::start_again(const StepInput& input, bool goes_on) {
  for (Passage& passage : activations_) {
    if (passage.channel)
      passage.channel->begin_again(passage.surplus, goes_on ? passage.received : 0);
  }
  for (const HeldStage& held : held_stages_) {
    if (held.stage != nullptr) held.stage->begin_step(true);
  }
  fields_.end();
  bytes_in_use_.clear();
  if (goes_on) fields_.begin(input.batches);
}

void Executor::execute(const Task& task, const StepInput& input) {
  const int m = task.instruction.micro_batch;
  switch (task.instruction.op) {
    case Op::Forward:
      forward(task, micro_batch_of(task, input));
      return;
    case Op::Recompute:
      task.held->stage->recompute(micro_batch_of(task, input));
      return;
    case Op::Backward:
      backward(task, micro_batch_of(task, input), Halves::Both);
      return;
    case Op::BackwardInput:
      backward(task, micro_batch_of(task, input), Halves::Input);
      return;
    case Op::BackwardWeight:
      backward_weight(task, micro_batch_of(task, input));
      return;
    case Op::SendActivation:
    case Op::SendGradient:
      task.channel->send(m, *parts_.device);
      return;
    case Op::RecvActivation:
    case Op::RecvGradient:
      task.channel->receive(m);
      return;
    case Op::ReduceGradients:
      if (parts_.reduce != nullptr && input.pass.probe == nullptr) {
        task.held->stage->weights().begin_reduction(
            [group = parts_.reduce](const Tensor& part, std::span<const int64_t> cuts) {
              cuts.empty() ? group->start(part) : group->scatter(part, cuts);
            });
      }
      return;
    case Op::Audit:
      if (audit_.under_way()) {
        audit_.repeat(*parts_.stages[static_cast<size_t>(audit_.stage())], input.pass);
      }
      return;
    case Op::OptimizerStep:
      parts_.links->hand_over();
      if (parts_.reduce != nullptr) {
        parts_.reduce->finish();
        clock_->mark(tasks_.size() + 1);
        summed_ = true;
      }
      if (parts_.tied != nullptr) parts_.tied->add_up();
      input.update();
      return;
  }
}

MicroBatch Executor::micro_batch_of(const Task& task, const StepInput& input) const {
  const int m = task.instruction.micro_batch;
  const Batch& batch = fields_.batch(m);
  return {.pass = input.pass,
          .index = m,
          .field_names = &batch.names,
          .fields = &batch.tensors,
          .decoding = input.decoding.empty() ? nullptr : &input.decoding[static_cast<size_t>(m)]};
}

Tensors Executor::take_inputs(const Task& task) const {
  Tensors inputs;
  if (task.instruction.stage == 0) {
    const Batch& batch = fields_.batch(task.instruction.micro_batch);
    for (const std::string& field : parts_.inputs) inputs.push_back(batch.field(field));
    return inputs;
  }
  inputs.resize(task.held->input_count);
  for (Channel* channel : task.held->inputs) channel->take(task.instruction.micro_batch, inputs);
  return inputs;
}

void Executor::forward(const Task& task, const MicroBatch& batch) {
  Tensors inputs = take_inputs(task);
  const bool audited = audit_.covers(task.instruction);
  if (audited) audit_.before_forward(*task.held->stage, inputs, fields_.batch(batch.index));
  Tensors outputs = task.held->stage->forward(batch, std::move(inputs), task.keep_tape);
  for (Channel* channel : task.held->outputs) channel->put(batch.index, outputs);
}

void Executor::backward(const Task& task, const MicroBatch& batch, Halves halves) {
  const HeldStage& held = *task.held;
  Tensors gradients(held.output_count);
  for (Channel* channel : held.output_gradients) channel->take(batch.index, gradients);
  const bool audited = audit_.covers(task.instruction);
  if (audited) audit_.before_input_half(gradients);
  if (audited && halves == Halves::Both) audit_.before_weight_half(*held.stage);
  Tensors of_inputs = halves == Halves::Both
                          ? held.stage->backward(batch, std::move(gradients))
                          : held.stage->backward_input(batch, std::move(gradients));
  if (audited) audit_.after_input_half(of_inputs);
  for (Channel* channel : held.input_gradients) channel->put(batch.index, of_inputs);
}

void Executor::backward_weight(const Task& task, const MicroBatch& batch) {
  if (audit_.covers(task.instruction)) audit_.before_weight_half(*task.held->stage);
  task.held->stage->backward_weight(batch);
}

// Flips the bits of weights or states that PENSTOCK_BIT_FLIPS names, in the first stage of this
// rank that has weights or states.
void Executor::disturb(const Task& task, const StepInput& input) {
  BitFlips& flips = BitFlips::instance();
  flips.begin(input.pass.step, task.name, audit_.covers(task.instruction));
  for (const BitFlips::Kept& kept : flips.take_kept()) {
    for (Stage* stage : parts_.stages) {
      if (stage == nullptr) continue;
      std::vector<Tensor> all;
      for (StateEntry* entry : stage->weights().state()) {
        if (kept.weight) all.push_back(entry->value);
        for (const StateSlot& slot : entry->states) {
          if (!kept.weight && slot.tensor.elements() > 0) all.push_back(slot.tensor);
        }
      }
      if (all.empty()) continue;
      flips.flip(*parts_.device, all[kept.element % all.size()], kept.element / all.size(),
                 kept.bit, kept.weight ? "a weight" : "a state");
      break;
    }
  }
}

void Executor::progress() {
  activity_log_.beat();
  if (parts_.links != nullptr) parts_.links->progress();
  if (parts_.reduce != nullptr) parts_.reduce->progress();
}

void Executor::reserve(std::span<const int> most) {
  for (size_t e = 0; e < activations_.size(); ++e) {
    if (!activations_[e].channel) continue;
    // Only one of the two channels reserves memory: `most` counts messages of both directions, and
    // the links of both share memory.
    Channel& activation = *activations_[e].channel;
    (activation.sends() ? activation : *gradients_[e].channel).reserve(most[e]);
  }
}

std::span<const TimedInstruction> Executor::events() {
  if (events_.empty()) {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const Instruction& what = tasks_[i].instruction;
      const bool is_sum = what.op == Op::ReduceGradients && summed_;
      events_.push_back(
          {what, clock_->seconds(i), clock_->seconds(is_sum ? tasks_.size() + 1 : i + 1)});
    }
  }
  return events_;
}

}  // namespace penstock
