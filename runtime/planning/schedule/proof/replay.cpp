// The waits of a schedule: its events, and the one walk over all programs side by side.
#include "runtime/planning/schedule/proof/replay.h"

#include <utility>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {

// Events are numbered in rows of one entry per micro-batch. First come rows for the output of every
// stage, then for its input gradient, then for the activation of every edge, then for its gradient.
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

namespace {

class Replay {
 public:
  Replay(const Schedule& schedule, const TransportRules& rules,
         const std::function<void(int, int)>& visit)
      : schedule_(schedule),
        rules_(rules),
        visit_(visit),
        edges_(schedule),
        events_(schedule),
        waiting_(events_.count(), kNobody),
        traffic_(2 * static_cast<size_t>(edges_.count())),
        next_(schedule.ranks, 0) {}

  std::vector<int> run() {
    for (int rank = schedule_.ranks - 1; rank >= 0; --rank) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const int rank = runnable_.back();
      runnable_.pop_back();
      const int length = static_cast<int>(schedule_.program[rank].size());
      while (next_[rank] < length && advance(rank)) ++next_[rank];
    }
    return std::move(next_);
  }

 private:
  static constexpr int kNobody = -1;
  static constexpr int kHappened = -2;

  // These count the messages from one stage to another so far. `waiting` is the rank that waits for
  // room to send one more.
  struct Passed {
    int sent = 0, received = 0;
    int waiting = kNobody;
  };

  // Runs the rank's next instruction. Returns false if the rank must wait for an event instead;
  // that event makes the rank runnable again. A rank waits for one event at a time, so it is never
  // runnable twice.
  bool advance(int rank) {
    const Instruction& instruction = schedule_.program[rank][next_[rank]];
    const int64_t awaited = events_.awaited_by(instruction);
    if (awaited >= 0 && waiting_[awaited] != kHappened) {
      waiting_[awaited] = rank;
      return false;
    }
    if (rules_.window != TransportRules::kSendsNeverWait && is_message(instruction.op) &&
        !pass(rank, instruction)) {
      return false;
    }
    visit_(rank, next_[rank]);
    happen(events_.caused_by(instruction));
    return true;
  }

  bool pass(int rank, const Instruction& message) {
    Passed& passed = traffic_[directed_edge(edges_, message)];
    if (is_send(message.op)) {
      if (passed.sent - passed.received >= rules_.window) {
        passed.waiting = rank;
        return false;
      }
      ++passed.sent;
      return true;
    }
    ++passed.received;
    if (passed.waiting != kNobody) {
      runnable_.push_back(std::exchange(passed.waiting, kNobody));
    }
    return true;
  }

  void happen(int64_t event) {
    if (event < 0) return;
    const int waiting = std::exchange(waiting_[event], kHappened);
    if (waiting >= 0) runnable_.push_back(waiting);
  }

  const Schedule& schedule_;
  const TransportRules rules_;
  const std::function<void(int, int)>& visit_;
  const Edges edges_;
  const ScheduleEvents events_;
  // An entry says that the event has happened, or which rank waits for it, or that nobody does. No
  // more than one rank can wait for an event, since only one stage needs it.
  std::vector<int> waiting_;
  std::vector<Passed> traffic_;  // by directed edge
  std::vector<int> next_;        // next instruction, by rank
  std::vector<int> runnable_;
};

}  // namespace

std::vector<int> replay(const Schedule& schedule, const TransportRules& rules,
                        const std::function<void(int rank, int index)>& visit) {
  return Replay(schedule, rules, visit).run();
}

bool runs_to_its_end(const Schedule& schedule, const TransportRules& rules) {
  const std::vector<int> end = replay(schedule, rules, [](int, int) {});
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (end[rank] < static_cast<int>(schedule.program[rank].size())) return false;
  }
  return true;
}

}  // namespace penstock
