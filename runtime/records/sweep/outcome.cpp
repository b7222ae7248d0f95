#include "runtime/records/sweep/outcome.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The steps that count, by the rule of steady_times().
std::vector<const StepPoint*> steady_steps(const History& history, int64_t warmup) {
  std::map<int64_t, std::vector<const StepPoint*>> attempts;
  for (const StepPoint& step : history.steps) attempts[step.attempt].push_back(&step);
  std::vector<const StepPoint*> steady;
  for (const auto& [attempt, steps] : attempts) {
    const auto left_out = std::min(warmup, static_cast<int64_t>(steps.size()) / 2);
    steady.insert(steady.end(), steps.begin() + left_out, steps.end());
  }
  std::erase_if(steady, [](const StepPoint* step) { return !std::isfinite(step->step_ms); });
  return steady;
}

// The mean tokens of a steady step. Null if any of the steps does not tell.
std::optional<double> tokens_of(const History& history, int64_t warmup) {
  std::vector<double> tokens;
  for (const StepPoint* step : steady_steps(history, warmup)) {
    tokens.push_back(step->tokens_per_s * step->step_ms / 1e3);
  }
  const double mean = mean_of(tokens);
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

std::string first_line_of(const std::string& path) {
  constexpr int64_t kMostBytes = 1 << 16;
  const std::string text = read_text(path, kMostBytes, FileOwner::Run);
  return text.substr(0, text.find('\n'));
}

PointState state_of(const RunFiles& files, const RunFacts& facts, const SweepPoint& point) {
  if (files.state == RunState::Running) return PointState::Running;
  const bool whole = facts.steps_done >= point.steps && files.state == RunState::Finished;
  return whole ? PointState::Finished : PointState::Interrupted;
}

void add_run(const std::string& directory, const SweepPoint& point, int64_t warmup, Outcome& to) {
  const RunFiles files = read_run_files(directory);
  const RunFacts facts = facts_of(files);
  to.state = state_of(files, facts, point);
  to.steps = facts.steps_done;
  to.loss = facts.loss;
  to.step_ms = steady_times(files.history, warmup);
  to.tokens = tokens_of(files.history, warmup);
  if (to.state != PointState::Finished) return;
  to.bubble = facts.bubble_measured;
  for (const RankFigures& rank : facts.ranks) {
    to.peak_bytes = std::max(to.peak_bytes.value_or(0), rank.total_peak_bytes);
  }
}

}  // namespace

const char* word_of(PointState state) {
  switch (state) {
    case PointState::Skipped:
      return "skipped";
    case PointState::Waiting:
      return "waiting";
    case PointState::Submitted:
      return "submitted";
    case PointState::Running:
      return "running";
    case PointState::Interrupted:
      return "interrupted";
    case PointState::Failed:
      return "failed";
    default:
      return "finished";
  }
}

std::optional<StepTimes> steady_times(const History& history, int64_t warmup) {
  std::vector<double> times;
  for (const StepPoint* step : steady_steps(history, warmup)) times.push_back(step->step_ms);
  if (times.empty()) return std::nullopt;
  return times_of(times);
}

Outcome outcome_of(const std::string& sweep, const SweepPoint& point, int repeat, int64_t warmup) {
  if (!point.skipped.empty()) return {.state = PointState::Skipped, .reason = point.skipped};
  const std::string directory = run_directory(sweep, point, repeat);
  Outcome outcome;
  try {
    if (point.dry_run && fs::exists(directory + ".dry-run/" + kDryRunFile)) {
      outcome.state = PointState::Finished;
    } else if (fs::exists(directory + "/" + kMetricsFile)) {
      add_run(directory, point, warmup, outcome);
    } else if (fs::exists(directory + "/" + kSubmittedFile)) {
      outcome.state = PointState::Submitted;
    }
    const bool ended =
        outcome.state == PointState::Waiting || outcome.state == PointState::Interrupted;
    if (ended && fs::exists(directory + "/" + kFailureFile)) {
      outcome.state = PointState::Failed;
      outcome.reason = first_line_of(directory + "/" + kFailureFile);
    }
  } catch (const Error& error) {
    outcome.state = PointState::Failed;
    outcome.reason = error.what();
  }
  return outcome;
}

}  // namespace penstock
