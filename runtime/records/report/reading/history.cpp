#include "runtime/records/report/reading/history.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "kernels/error.h"
#include "runtime/records/report/reading/file_lines.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// Returns the number under `key`, or NaN if it is absent or null: null stands for a number that is
// not finite.
double number_in(const json& line, const char* key, const std::string& where) {
  const auto found = line.find(key);
  if (found == line.end() || found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!found->is_number()) fail_data(where + ": \"" + key + "\" is not a number");
  return found->get<double>();
}

int64_t whole_in(const json& line, const char* key, const std::string& where) {
  const uint64_t value = json_count(line, key, where);
  if (value > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) * 1000) {
    fail_data(where + ": \"" + key + "\" is larger than any run's");
  }
  return static_cast<int64_t>(value);
}

// Adds the load of experts to the point: the largest of all mixtures, and the sum of the idle ones.
void read_experts(const json& line, const std::string& where, StepPoint& point) {
  point.expert_load = point.idle_experts = std::numeric_limits<double>::quiet_NaN();
  const auto found = line.find("experts");
  if (found == line.end()) return;
  if (!found->is_array()) fail_data(where + ": \"experts\" is not a list");
  point.idle_experts = 0.0;
  for (const json& mixture : *found) {
    if (!mixture.is_object()) fail_data(where + ": \"experts\" is not a list of objects");
    point.expert_load = std::fmax(point.expert_load, number_in(mixture, "largest", where));
    point.idle_experts += number_in(mixture, "idle", where);
  }
}

bool flag_in(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

// Keeps one point for each step and removes the others. It keeps the last point of the highest
// attempt that took the step.
template <class Point>
void keep_the_last(std::vector<Point>& points) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.step != b.step ? a.step < b.step : a.attempt < b.attempt;
  });
  size_t kept = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].step == points[i].step) continue;
    points[kept++] = points[i];
  }
  points.resize(kept);
}

}  // namespace

void HistoryReader::add(std::string_view line, const std::string& where) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const json record = parse_json(line, where);
  const int64_t step = whole_in(record, "step", where);
  const int64_t attempt = record.contains("attempt") ? whole_in(record, "attempt", where) : 1;
  const double loss = number_in(record, "loss", where);
  if (flag_in(record, "eval")) {
    read_.evals.push_back({.step = step,
                           .attempt = attempt,
                           .loss = loss,
                           .accuracy = number_in(record, "accuracy", where)});
    return;
  }
  read_.steps.push_back({.step = step,
                         .attempt = attempt,
                         .loss = loss,
                         .grad_norm = number_in(record, "grad_norm", where),
                         .learning_rate = number_in(record, "learning_rate", where),
                         .step_ms = number_in(record, "step_ms", where),
                         .data_wait_ms = number_in(record, "data_wait_ms", where),
                         .samples_per_s = number_in(record, "throughput", where),
                         .tokens_per_s = number_in(record, "tokens_per_s", where),
                         .left_out = flag_in(record, "left_out")});
  read_experts(record, where, read_.steps.back());
}

History HistoryReader::finish() {
  std::map<int64_t, AttemptSpan> attempts;
  for (const StepPoint& point : read_.steps) {
    AttemptSpan& span = attempts[point.attempt];
    span.attempt = point.attempt;
    span.first_step = span.lines == 0 ? point.step : std::min(span.first_step, point.step);
    span.last_step = std::max(span.last_step, point.step);
    ++span.lines;
  }
  History history = std::move(read_);
  read_ = {};
  keep_the_last(history.steps);
  keep_the_last(history.evals);
  std::map<int64_t, int64_t> kept;
  for (const StepPoint& point : history.steps) ++kept[point.attempt];
  for (auto& [attempt, span] : attempts) {
    span.replaced = span.lines - kept[attempt];
    history.attempts.push_back(span);
  }
  return history;
}

std::optional<EvalRecord> last_evaluation(const std::string& metrics, int64_t most_step) {
  std::optional<EvalRecord> last;
  if (!std::filesystem::exists(metrics)) return last;
  read_lines(metrics, [&](std::string_view line, const std::string& where) {
    // Few lines are of evaluations, and only these are parsed.
    if (!line.starts_with("{\"eval\":true,")) return;
    const json record = parse_json(line, where);
    const int64_t step = whole_in(record, "step", where);
    if (step > most_step) return;
    last = EvalRecord{.step = step,
                      .attempt = whole_in(record, "attempt", where),
                      .loss = number_in(record, "loss", where),
                      .accuracy = {},
                      .samples = whole_in(record, "samples", where),
                      .seconds = number_in(record, "seconds", where),
                      .best = flag_in(record, "best")};
    if (record.contains("accuracy")) last->accuracy = number_in(record, "accuracy", where);
  });
  return last;
}

}  // namespace penstock
