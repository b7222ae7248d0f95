// runtime/planning/schedule/proof/replay.h -- replay(): steps through the programs of all ranks in
// an order in which they could really run, and calls a function for each instruction.
//
// It computes and sends nothing and knows no times: it only knows which instruction waits for
// which. That rule is written here once, for three users: verify() (verify.h) asks whether every
// rank reaches its end, that is, whether the schedule is free of deadlock; message_window()
// (window.h) asks how few messages may be under way at once; simulate() (timing/simulate.h) gives a
// time to every instruction visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Numbers the events of a step. An event is the end of an instruction for which an instruction of
// another stage waits: a receive waits for its send, a Forward for the Forward of the stage before,
// and Backward or BackwardInput for the input gradient of the stage after (for the same
// micro-batch).
//
// In a lowered schedule the Forward's and Backward's own waits are short, since the receive before
// them has waited already. In a schedule without messages they are the only waits. Skip connections
// add none to them: what a stage gets over a skip was computed before the stage before it ran.
class ScheduleEvents {
 public:
  explicit ScheduleEvents(const Schedule& schedule);

  // The number of events; they are numbered 0 .. count() - 1.
  [[nodiscard]] size_t count() const;
  // The event that an instruction causes, and the event that it waits for; -1: none. The
  // instruction must be well-formed (well_formed.h).
  [[nodiscard]] int64_t caused_by(const Instruction& instruction) const;
  [[nodiscard]] int64_t awaited_by(const Instruction& instruction) const;
  // The stage whose instruction causes the event.
  [[nodiscard]] int stage_of(int64_t event) const;

 private:
  [[nodiscard]] int64_t output(int stage, int micro_batch) const;
  [[nodiscard]] int64_t input_gradient(int stage, int micro_batch) const;
  [[nodiscard]] int64_t activation(const Instruction& message) const;
  [[nodiscard]] int64_t gradient(const Instruction& message) const;

  Edges edges_;
  int64_t stages_;
  int64_t micro_batches_;
};

// The rules by which sends wait on the links between ranks. A receive always waits until its
// message has come.
struct TransportRules {
  // The most messages that may be under way (sent, not yet received) from one stage to another: a
  // further send waits until the oldest of them has been received. kSendsNeverWait: there is no
  // limit, as with links that copy what they send.
  int window = kSendsNeverWait;
  // Whether links read a message from the tensors of the stage that sent it until the receiver has
  // taken it, as MPI does, although no send waits. Only memory hangs on that (timing/memory.h).
  bool holds_sent = false;

  static constexpr int kSendsNeverWait = 0;
};

// Calls visit(rank, index) for every instruction that can run, in an order in which each comes
// after all that it waits for; `index` is its place in the program of `rank`. Where rules.window
// limits the messages, a send waits for the receive that makes room for it. Returns, by rank, the
// index of the instruction at which the rank is stuck for ever, or the length of its program if it
// is not. The schedule must be well-formed (well_formed.h), and messages from one stage to another
// must be received in the order in which they are sent. O(instructions).
std::vector<int> replay(const Schedule& schedule, const TransportRules& rules,
                        const std::function<void(int rank, int index)>& visit);

// Whether every rank gets to the end of its program: false means a deadlock.
[[nodiscard]] bool runs_to_its_end(const Schedule& schedule, const TransportRules& rules);

}  // namespace penstock
