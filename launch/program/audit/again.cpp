#include "launch/program/audit/again.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/compare.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/report/reading/file_lines.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// These members of a line of metrics.jsonl depend on the training and not on the machine, so an
// audit compares them.
constexpr std::array<const char*, 6> kFigures = {"loss",     "grad_norm",      "learning_rate",
                                                 "accuracy", "auxiliary_loss", "samples"};

using Place = std::pair<int64_t, bool>;  // the step, and whether the line is of an evaluation
using Lines = std::map<Place, nlohmann::json>;

Lines metrics_of(const std::string& directory, int64_t from) {
  Lines lines;
  const std::string path = directory + "/" + kMetricsFile;
  (void)read_lines(path, [&](std::string_view line, const std::string& where) {
    nlohmann::json parsed = parse_json(line, where);
    const auto step = static_cast<int64_t>(json_count(parsed, "step", where));
    const Place place{step, parsed.value("eval", false)};
    if (step > from) lines[place] = std::move(parsed);
  });
  return lines;
}

std::string name_of_place(const Place& place) {
  return (place.second ? "the evaluation after step " : "step ") + std::to_string(place.first);
}

// Returns the first figure that differs, with both values, or an empty text if no figure differs.
std::string difference(const nlohmann::json& then, const nlohmann::json& now) {
  for (const char* figure : kFigures) {
    const auto was = then.find(figure);
    const auto is = now.find(figure);
    if (was == then.end() || is == now.end() || *was == *is) continue;
    return fmt::format("{} was {} and is {}", figure, was->dump(), is->dump());
  }
  return {};
}

std::string compare_lines(const Lines& then, const Lines& now, Comparison& comparison) {
  int64_t steps = 0;
  for (const auto& [place, line] : then) {
    const auto again = now.find(place);
    if (again == now.end()) continue;
    ++steps;
    const std::string differs = difference(line, again->second);
    if (differs.empty()) continue;
    comparison.equal = false;
    std::string text =
        fmt::format("{} is the first that differs: {}\n", name_of_place(place), differs);
    // Settings can be the reason: an attempt that was started with other settings takes other steps
    // on any machine.
    const int64_t attempt = line.value("attempt", int64_t{1});
    const int64_t last = then.rbegin()->second.value("attempt", int64_t{1});
    if (attempt < last) {
      text += fmt::format(
          "attempt {} took it, and run.toml has the settings of attempt {}: if log.txt says that "
          "they were changed, give --from a checkpoint after which all steps are of attempt {}\n",
          attempt, last, last);
    }
    return text;
  }
  return fmt::format("{} of metrics.jsonl: the same to the last bit\n", amount_text(steps, "line"));
}

std::string compare_tensors(const std::string& then, const std::string& now, int64_t step,
                            Comparison& comparison) {
  constexpr size_t kMostNamed = 5;
  CheckpointReader first(then);
  CheckpointReader second(now);
  const std::vector<TensorDifference> differences = compare_checkpoints(first, second);
  const std::string name = step_name(step);
  if (differences.empty()) return name + ": all tensors have the same bits\n";
  comparison.equal = false;
  std::string text =
      fmt::format("{}: {} differ\n", name, amount_text(std::ssize(differences), "tensor"));
  for (size_t i = 0; i < std::min(kMostNamed, differences.size()); ++i) {
    text += fmt::format("  {}: {} elements\n", differences[i].name, differences[i].elements);
  }
  return text;
}

}  // namespace

StepsTaken steps_of(const std::string& run) {
  const Lines lines = metrics_of(run, 0);
  if (lines.empty()) return {};
  return {lines.begin()->first.first, lines.rbegin()->first.first};
}

Comparison compare_runs(const std::string& then, const std::string& now, int64_t from) {
  Comparison comparison;
  comparison.text = compare_lines(metrics_of(then, from), metrics_of(now, from), comparison);
  const std::string folder = std::string("/") + kCheckpointFolder;
  std::map<int64_t, std::string> again;
  for (const StepDirectory& step : list_checkpoints(now + folder)) again[step.step] = step.path;
  for (const StepDirectory& step : list_checkpoints(then + folder)) {
    const auto found = again.find(step.step);
    if (step.step <= from || found == again.end()) continue;
    Comparison tensors;
    comparison.text += compare_tensors(step.path, found->second, step.step, tensors);
    if (tensors.equal) continue;
    comparison.equal = false;
    break;
  }
  return comparison;
}

}  // namespace penstock
