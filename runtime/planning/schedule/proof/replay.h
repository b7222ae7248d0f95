// runtime/planning/schedule/proof/replay.h -- replay(): visits the instructions of all programs in
// an order in which they could really run.
//
// The replay does no work and knows no times, only which instruction waits for which; no other code
// knows that. verify() asks whether every rank gets to its end, message_window() under which window
// all do, and simulate() puts a time to every visit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// An event is something that an instruction of another stage waits for. Receives wait for their
// send; Forward for the Forward of the stage before; Backward and BackwardInput for the input
// gradient of the stage after. (In a lowered schedule the receive has waited already; and what a
// stage gets over a skip was there before the stage before it could run.)
class ScheduleEvents {
 public:
  explicit ScheduleEvents(const Schedule& schedule);

  [[nodiscard]] size_t count() const;
  // The event that an instruction causes, and the one that it waits for: 0 .. count() - 1, or -1
  // for none. The instruction must be well-formed (well_formed.h).
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

// The rules by which sends wait on the links between ranks. Receives always wait.
struct TransportRules {
  // The number of messages of one directed edge that may be under way: one more is sent only when
  // the oldest of them has been received. kSendsNeverWait: any number, as with links that copy what
  // they send or hold it for as long as it takes.
  int window = kSendsNeverWait;

  static constexpr int kSendsNeverWait = 0;
};

// Calls visit(rank, index) for every instruction that can run, after all it waits for; a send under
// a window waits for the receive that made room for it. Returns for every rank the index of the
// instruction at which it is stuck, or the length of its program. The schedule must be well-formed
// (well_formed.h), and its messages first in, first out. O(instructions).
std::vector<int> replay(const Schedule& schedule, const TransportRules& rules,
                        const std::function<void(int rank, int index)>& visit);

// Whether every rank gets to its end.
[[nodiscard]] bool runs_to_its_end(const Schedule& schedule, const TransportRules& rules);

}  // namespace penstock
