#include "runtime/report/trace_recorder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace penstock {
namespace {

// Of one rank, on its way to rank 0: time zero by the rank's clock, then the spans. Ranks of one
// job run one program: its structs look alike everywhere.
static_assert(std::is_trivially_copyable_v<TimedInstruction>);

std::string packed(double zero_s, const std::vector<TimedInstruction>& spans) {
  std::string bytes(reinterpret_cast<const char*>(&zero_s), sizeof zero_s);
  return bytes.append(reinterpret_cast<const char*>(spans.data()),
                      spans.size() * sizeof(TimedInstruction));
}

struct RankSpans {
  double zero_s = 0;
  std::vector<TimedInstruction> spans;
};

RankSpans unpacked(const std::string& bytes) {
  RankSpans rank;
  std::memcpy(&rank.zero_s, bytes.data(), sizeof rank.zero_s);
  rank.spans.resize((bytes.size() - sizeof rank.zero_s) / sizeof(TimedInstruction));
  std::memcpy(rank.spans.data(), bytes.data() + sizeof rank.zero_s,
              rank.spans.size() * sizeof(TimedInstruction));
  return rank;
}

}  // namespace

TraceRecorder::TraceRecorder(int64_t steps, int64_t first, int64_t total)
    : first_(std::max<int64_t>(1, std::min(first, total - steps + 1))),
      last_(std::min(first_ + steps - 1, total)) {}

void TraceRecorder::begin_step(int64_t step, Executor& executor, Collective& world) {
  if (step != first_ || first_ > last_) return;
  world_ = &world;
  clocks_.emplace(world);
  clocks_->read();
  world.barrier();
  executor.reset_clock();
  zero_s_ = monotonic_seconds();
}

void TraceRecorder::end_step(int64_t step, Executor& executor) {
  if (step < first_ || step > last_) return;
  const std::span<const TimedInstruction> events = executor.events();
  here_.insert(here_.end(), events.begin(), events.end());
  ++recorded_;
  if (step == last_) clocks_->read();
}

RecordedTrace TraceRecorder::gather() {
  if (empty()) return {};
  if (first_ + recorded_ <= last_) clocks_->read();  // the run was stopped before the last one
  const std::vector<std::string> all = world_->gather_text(packed(zero_s_, here_));
  if (all.empty()) return {};
  RecordedTrace trace{.clocks = clocks_->different(), .clock_error_s = clocks_->error_s()};
  for (int64_t s = 0; s < recorded_; ++s) trace.steps.push_back({.step = first_ + s});
  for (size_t r = 0; r < all.size(); ++r) {
    const OtherClock& clock = clocks_->of_rank(static_cast<int>(r));
    RankSpans rank = unpacked(all[r]);
    const auto by_rank_0 = [&](double s) { return clock.here(rank.zero_s + s) - zero_s_; };
    for (TimedInstruction& span : rank.spans) {
      span = {span.instruction, by_rank_0(span.start), by_rank_0(span.end)};
    }
    const auto length = std::ssize(rank.spans) / recorded_;
    for (int64_t s = 0; s < recorded_; ++s) {
      const auto begin = rank.spans.begin() + s * length;
      trace.steps[static_cast<size_t>(s)].timeline.rank.emplace_back(begin, begin + length);
    }
  }
  return trace;
}

}  // namespace penstock
