#include "runtime/planning/schedule/proof/leading_forwards.h"

#include <algorithm>

#include "runtime/planning/schedule/edges.h"

namespace penstock {
namespace {

bool leads(Op op) {
  return op == Op::Forward || op == Op::SendActivation || op == Op::RecvActivation;
}

}  // namespace

LeadingForwards leading_forwards(const Schedule& schedule) {
  const Edges edges(schedule);
  const auto edge_of = [&](const Instruction& message) {
    return static_cast<size_t>(edges.of(message));
  };
  LeadingForwards leading;
  for (const auto& program : schedule.program) {
    const auto last = std::find_if(program.begin(), program.end(),
                                   [](const Instruction& i) { return !leads(i.op); });
    leading.end.push_back(static_cast<size_t>(last - program.begin()));
  }
  // A rank that ends its leading forwards earlier sends less, so other ranks must end theirs
  // earlier, too.
  for (bool changed = true; changed;) {
    changed = false;
    leading.surplus.assign(static_cast<size_t>(edges.count()), 0);
    for (size_t rank = 0; rank < schedule.program.size(); ++rank) {
      for (size_t i = 0; i < leading.end[rank]; ++i) {
        const Instruction& instruction = schedule.program[rank][i];
        if (instruction.op == Op::SendActivation) ++leading.surplus[edge_of(instruction)];
      }
    }
    for (size_t rank = 0; rank < schedule.program.size(); ++rank) {
      for (size_t i = 0; i < leading.end[rank]; ++i) {
        const Instruction& instruction = schedule.program[rank][i];
        if (instruction.op != Op::RecvActivation) continue;
        if (--leading.surplus[edge_of(instruction)] >= 0) continue;
        leading.end[rank] = i;
        changed = true;
      }
    }
  }
  return leading;
}

}  // namespace penstock
