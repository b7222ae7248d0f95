#include "runtime/engine/measurements/trace_recorder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/engine/measurements/run_report.h"

namespace penstock {
namespace {

// The recording of one rank, on its way to rank 0. Ranks of one job run one program, so its structs
// have the same layout everywhere.
struct RankRecording {
  double zero_s = 0;  // by the rank's clock
  std::vector<TimedInstruction> spans;
  std::vector<int64_t> bytes;  // one for each span
};
static_assert(std::is_trivially_copyable_v<TimedInstruction>);

template <class T>
void append(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

std::string packed(double zero_s, const std::vector<TimedInstruction>& spans,
                   const std::vector<int64_t>& in_use) {
  std::string bytes;
  append(bytes, &zero_s, 1);
  append(bytes, spans.data(), spans.size());
  append(bytes, in_use.data(), in_use.size());
  return bytes;
}

RankRecording unpacked(const std::string& bytes) {
  RankRecording rank;
  const size_t count =
      (bytes.size() - sizeof rank.zero_s) / (sizeof(TimedInstruction) + sizeof(int64_t));
  rank.spans.resize(count);
  rank.bytes.resize(count);
  const char* at = bytes.data();
  std::memcpy(&rank.zero_s, at, sizeof rank.zero_s);
  at += sizeof rank.zero_s;
  std::memcpy(rank.spans.data(), at, count * sizeof(TimedInstruction));
  at += count * sizeof(TimedInstruction);
  std::memcpy(rank.bytes.data(), at, count * sizeof(int64_t));
  return rank;
}

// Cuts the recording of a rank into its steps and appends each to its place in `steps`.
void add_rank(const RankRecording& rank, std::vector<TracedStep>& steps) {
  const auto length = std::ssize(rank.spans) / std::ssize(steps);
  for (int64_t s = 0; s < std::ssize(steps); ++s) {
    TracedStep& step = steps[static_cast<size_t>(s)];
    const auto spans = rank.spans.begin() + s * length;
    step.timeline.rank.emplace_back(spans, spans + length);
    const auto bytes = rank.bytes.begin() + s * length;
    step.bytes.emplace_back(bytes, bytes + length);
  }
}

}  // namespace

TraceRecorder::TraceRecorder(int64_t steps, int64_t next, int64_t last,
                             std::function<double()> common_clock)
    : first_(std::max(next, std::min(next + RunReport::kWarmUpSteps, last - steps + 1))),
      last_(std::min(first_ + steps - 1, last)),
      common_clock_(std::move(common_clock)) {}

double TraceRecorder::seconds() const {
  return common_clock_ ? common_clock_() : monotonic_seconds();
}

void TraceRecorder::read_clocks() {
  if (clocks_) clocks_->read();
}

void TraceRecorder::begin_step(int64_t step, Executor& executor, Collective& world) {
  if (step != first_ || first_ > last_) return;
  world_ = &world;
  if (!common_clock_) clocks_.emplace(world);
  read_clocks();
  executor.record_memory(true);
  world.barrier();
  executor.reset_clock();
  zero_s_ = seconds();
}

void TraceRecorder::end_step(int64_t step, Executor& executor) {
  if (step < first_ || step > last_) return;
  const std::span<const TimedInstruction> events = executor.events();
  here_.insert(here_.end(), events.begin(), events.end());
  const std::span<const int64_t> bytes = executor.bytes_in_use();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  ++recorded_;
  if (step != last_) return;
  executor.record_memory(false);
  read_clocks();
}

RecordedTrace TraceRecorder::gather() {
  if (empty()) return {};
  if (first_ + recorded_ <= last_) read_clocks();  // the run was stopped before the last one
  const std::vector<std::string> all = world_->gather_text(packed(zero_s_, here_, bytes_));
  if (all.empty()) return {};
  RecordedTrace trace;
  if (clocks_) trace = {.clocks = clocks_->different(), .clock_error_s = clocks_->error_s()};
  for (int64_t s = 0; s < recorded_; ++s) trace.steps.push_back({.step = first_ + s});
  for (size_t r = 0; r < all.size(); ++r) {
    RankRecording rank = unpacked(all[r]);
    const auto by_rank_0 = [&](double s) {
      const double moment = rank.zero_s + s;
      return (clocks_ ? clocks_->of_rank(static_cast<int>(r)).here(moment) : moment) - zero_s_;
    };
    for (TimedInstruction& span : rank.spans) {
      span = {span.instruction, by_rank_0(span.start), by_rank_0(span.end)};
    }
    add_rank(rank, trace.steps);
  }
  return trace;
}

}  // namespace penstock
