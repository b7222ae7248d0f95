#include "runtime/schedule/replay.h"

namespace penstock {

size_t ScheduleEvents::count() const {
  return static_cast<size_t>(kKinds * stages_ * micro_batches_);
}

int64_t ScheduleEvents::number(Kind kind, int stage, int micro_batch) const {
  if (stage < 0 || stage >= stages_) return -1;
  return (kind * stages_ + stage) * micro_batches_ + micro_batch;
}

int ScheduleEvents::stage_of(int64_t event) const {
  return static_cast<int>(event / micro_batches_ % stages_);
}

int64_t ScheduleEvents::caused_by(const Instruction& instruction) const {
  const auto [op, stage, micro_batch, peer] = instruction;
  switch (op) {
    case Op::Forward:
      return number(Output, stage, micro_batch);
    case Op::Backward:
    case Op::BackwardInput:
      return number(InputGradient, stage, micro_batch);
    case Op::SendActivation:
      return number(SentActivation, stage, micro_batch);
    case Op::SendGradient:
      return number(SentGradient, stage, micro_batch);
    default:
      return -1;
  }
}

int64_t ScheduleEvents::awaited_by(const Instruction& instruction) const {
  const auto [op, stage, micro_batch, peer] = instruction;
  switch (op) {
    case Op::Forward:
      return number(Output, stage - 1, micro_batch);
    case Op::Backward:
    case Op::BackwardInput:
      return number(InputGradient, stage + 1, micro_batch);
    case Op::RecvActivation:
      return number(SentActivation, stage - 1, micro_batch);
    case Op::RecvGradient:
      return number(SentGradient, stage + 1, micro_batch);
    default:
      return -1;
  }
}

std::vector<int> replay(const Schedule& schedule,
                        const std::function<void(int rank, int index)>& visit) {
  constexpr int kNobody = -1;
  const ScheduleEvents events(schedule);
  std::vector<char> happened(events.count(), 0);
  std::vector<int> waiting(events.count(), kNobody);  // an event is awaited by one stage only
  std::vector<int> next(schedule.ranks, 0);
  std::vector<int> runnable;
  for (int rank = schedule.ranks - 1; rank >= 0; --rank) runnable.push_back(rank);

  while (!runnable.empty()) {
    const int rank = runnable.back();
    runnable.pop_back();
    const auto& program = schedule.program[rank];
    for (int& i = next[rank]; i < static_cast<int>(program.size()); ++i) {
      const int64_t awaited = events.awaited_by(program[i]);
      if (awaited >= 0 && happened[awaited] == 0) {
        waiting[awaited] = rank;
        break;
      }
      visit(rank, i);
      const int64_t caused = events.caused_by(program[i]);
      if (caused < 0) continue;
      happened[caused] = 1;
      if (waiting[caused] != kNobody) runnable.push_back(waiting[caused]);
      waiting[caused] = kNobody;
    }
  }
  return next;
}

}  // namespace penstock
