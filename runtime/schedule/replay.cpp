#include "runtime/schedule/replay.h"

namespace penstock {

// Numbered in rows of one entry per micro-batch: a row for the output of every stage, for its input
// gradient, for the activation of every edge, for its gradient.
ScheduleEvents::ScheduleEvents(const Schedule& schedule)
    : edges_(schedule), stages_(schedule.stages), micro_batches_(schedule.micro_batches) {}

size_t ScheduleEvents::count() const {
  return static_cast<size_t>(2 * (stages_ + edges_.count()) * micro_batches_);
}

int64_t ScheduleEvents::output(int stage, int micro_batch) const {
  return stage * micro_batches_ + micro_batch;
}

int64_t ScheduleEvents::input_gradient(int stage, int micro_batch) const {
  return (stages_ + stage) * micro_batches_ + micro_batch;
}

int64_t ScheduleEvents::activation(const Instruction& message) const {
  return (2 * stages_ + edges_.of(message)) * micro_batches_ + message.micro_batch;
}

int64_t ScheduleEvents::gradient(const Instruction& message) const {
  return (2 * stages_ + edges_.count() + edges_.of(message)) * micro_batches_ + message.micro_batch;
}

int ScheduleEvents::stage_of(int64_t event) const {
  const int64_t row = event / micro_batches_;
  if (row < 2 * stages_) return static_cast<int>(row % stages_);
  const auto message = static_cast<int>(row - 2 * stages_);
  return message < edges_.count() ? edges_.ends(message).from
                                  : edges_.ends(message - edges_.count()).to;
}

int64_t ScheduleEvents::caused_by(const Instruction& instruction) const {
  const auto [op, stage, micro_batch, peer] = instruction;
  switch (op) {
    case Op::Forward:
      return output(stage, micro_batch);
    case Op::Backward:
    case Op::BackwardInput:
      return input_gradient(stage, micro_batch);
    case Op::SendActivation:
      return activation(instruction);
    case Op::SendGradient:
      return gradient(instruction);
    default:
      return -1;
  }
}

int64_t ScheduleEvents::awaited_by(const Instruction& instruction) const {
  const auto [op, stage, micro_batch, peer] = instruction;
  switch (op) {
    case Op::Forward:
      return stage == 0 ? -1 : output(stage - 1, micro_batch);
    case Op::Backward:
    case Op::BackwardInput:
      return stage + 1 == stages_ ? -1 : input_gradient(stage + 1, micro_batch);
    case Op::RecvActivation:
      return activation(instruction);
    case Op::RecvGradient:
      return gradient(instruction);
    default:
      return -1;
  }
}

std::vector<int> replay(const Schedule& schedule,
                        const std::function<void(int rank, int index)>& visit) {
  // Of every event: that it has happened, or who waits for it; one rank at most, that of one stage.
  constexpr int kNobody = -1;
  constexpr int kHappened = -2;
  const ScheduleEvents events(schedule);
  std::vector<int> waiting(events.count(), kNobody);
  std::vector<int> next(schedule.ranks, 0);
  std::vector<int> runnable;
  for (int rank = schedule.ranks - 1; rank >= 0; --rank) runnable.push_back(rank);

  while (!runnable.empty()) {
    const int rank = runnable.back();
    runnable.pop_back();
    const auto& program = schedule.program[rank];
    for (int& i = next[rank]; i < static_cast<int>(program.size()); ++i) {
      const int64_t awaited = events.awaited_by(program[i]);
      if (awaited >= 0 && waiting[awaited] != kHappened) {
        waiting[awaited] = rank;
        break;
      }
      visit(rank, i);
      const int64_t caused = events.caused_by(program[i]);
      if (caused < 0) continue;
      if (waiting[caused] >= 0) runnable.push_back(waiting[caused]);
      waiting[caused] = kHappened;
    }
  }
  return next;
}

}  // namespace penstock
