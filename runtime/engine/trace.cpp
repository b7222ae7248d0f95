#include "runtime/engine/trace.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace penstock {

Trace::Trace(int64_t steps, int64_t first, int64_t total)
    : first_(std::clamp(total - steps + 1, int64_t{1}, first)),
      last_(std::min(first_ + steps - 1, total)) {}

void Trace::begin_step(int64_t step, Executor& executor, Collective& world) {
  if (step != first_ || empty()) return;
  world.barrier();
  executor.reset_clock();
}

void Trace::end_step(int64_t step, const Executor& executor) {
  if (step < first_ || step > last_) return;
  here_.insert(here_.end(), executor.events().begin(), executor.events().end());
}

Timeline Trace::gather(Collective& world) const {
  // Ranks of one job run one program: its structs look alike everywhere.
  static_assert(std::is_trivially_copyable_v<TimedInstruction>);
  const auto* bytes = reinterpret_cast<const char*>(here_.data());
  const std::string mine(bytes, here_.size() * sizeof(TimedInstruction));
  Timeline timeline;
  for (const std::string& theirs : world.gather_text(mine)) {
    auto& events = timeline.rank.emplace_back(theirs.size() / sizeof(TimedInstruction));
    std::memcpy(events.data(), theirs.data(), theirs.size());
  }
  return timeline;
}

}  // namespace penstock
