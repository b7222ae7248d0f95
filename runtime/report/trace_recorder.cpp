#include "runtime/report/trace_recorder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace penstock {

TraceRecorder::TraceRecorder(int64_t steps, int64_t first, int64_t total)
    : first_(std::max<int64_t>(1, std::min(first, total - steps + 1))),
      last_(std::min(first_ + steps - 1, total)) {}

void TraceRecorder::begin_step(int64_t step, Executor& executor, Collective& world) {
  if (empty() || step != first_) return;
  world.barrier();
  executor.reset_clock();
}

void TraceRecorder::end_step(int64_t step, Executor& executor) {
  if (!records(step)) return;
  const std::span<const TimedInstruction> events = executor.events();
  here_.insert(here_.end(), events.begin(), events.end());
}

std::vector<TracedStep> TraceRecorder::gather(Collective& world) const {
  // Ranks of one job run one program: its structs look alike everywhere.
  static_assert(std::is_trivially_copyable_v<TimedInstruction>);
  const std::string mine(reinterpret_cast<const char*>(here_.data()),
                         here_.size() * sizeof(TimedInstruction));
  const std::vector<std::string> all = world.gather_text(mine);
  std::vector<TracedStep> steps;
  if (all.empty()) return steps;
  const auto count = static_cast<size_t>(last_ - first_ + 1);
  for (size_t s = 0; s < count; ++s) {
    TracedStep& step = steps.emplace_back(TracedStep{.step = first_ + static_cast<int64_t>(s)});
    for (const std::string& bytes : all) {
      const size_t size = bytes.size() / count;
      auto& events = step.timeline.rank.emplace_back(size / sizeof(TimedInstruction));
      std::memcpy(events.data(), bytes.data() + s * size, size);
    }
  }
  return steps;
}

}  // namespace penstock
