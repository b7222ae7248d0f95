#include "runtime/records/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/records/report/curve.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBuckets = 600;  // a curve is about so many pixels wide
// All timelines together have at most this many boxes, which make some megabytes of the page.
constexpr size_t kMostBoxes = 40'000;
constexpr size_t kMostRanksDrawn = 64;

Json points_json(const std::vector<CurvePoint>& points) {
  Json list = Json::array();
  for (const CurvePoint& point : points) {
    list.push_back({static_cast<int64_t>(std::round(point.x)),
                    std::isfinite(point.y) ? Json(point.y) : Json(nullptr)});
  }
  return list;
}

Json series_json(const char* name, const char* style, const std::vector<CurvePoint>& points) {
  const std::vector<CurvePoint> kept = thinned(points, kBuckets);
  const bool is_thinned = kept.size() < points.size();
  Json series = {
      {"name", name}, {"style", style}, {"thinned", is_thinned}, {"points", points_json(kept)}};
  if (is_thinned) series["means"] = points_json(averaged(points, kBuckets / 4));
  return series;
}

template <class Point>
std::vector<CurvePoint> points_of(const std::vector<Point>& all, double Point::*value) {
  std::vector<CurvePoint> points;
  points.reserve(all.size());
  for (const Point& one : all) points.push_back({static_cast<double>(one.step), one.*value});
  return points;
}

bool has_values(const std::vector<CurvePoint>& points) {
  return std::ranges::any_of(points, [](const CurvePoint& one) { return std::isfinite(one.y); });
}

void add_curve(Json& curves, const History& history, Json about, double StepPoint::*value) {
  const std::vector<CurvePoint> points = points_of(history.steps, value);
  if (!has_values(points)) return;
  about["steps"] = points.size();
  about["series"] = Json::array({series_json("training", "line", points)});
  curves.push_back(std::move(about));
}

Json curves_json(const History& history) {
  Json curves = Json::array();
  add_curve(curves, history, {{"id", "loss"}, {"title", "Loss"}, {"unit", ""}}, &StepPoint::loss);
  const std::vector<CurvePoint> evals = points_of(history.evals, &EvalPoint::loss);
  if (!curves.empty() && has_values(evals)) {
    curves[0]["series"].push_back(series_json("evaluation", "dots", evals));
  }
  add_curve(curves, history, {{"id", "grad_norm"}, {"title", "Gradient norm"}, {"unit", ""}},
            &StepPoint::grad_norm);
  add_curve(curves, history, {{"id", "learning_rate"}, {"title", "Learning rate"}, {"unit", ""}},
            &StepPoint::learning_rate);
  const bool tokens = has_values(points_of(history.steps, &StepPoint::tokens_per_s));
  add_curve(curves, history,
            {{"id", "rate"}, {"title", "Throughput"}, {"unit", tokens ? "tokens/s" : "samples/s"}},
            tokens ? &StepPoint::tokens_per_s : &StepPoint::samples_per_s);
  add_curve(curves, history, {{"id", "step_ms"}, {"title", "Step time"}, {"unit", "ms"}},
            &StepPoint::step_ms);
  add_curve(curves, history,
            {{"id", "expert_load"}, {"title", "Fullest expert"}, {"unit", "x the mean"}},
            &StepPoint::expert_load);
  add_curve(curves, history,
            {{"id", "idle_experts"}, {"title", "Experts without a token"}, {"unit", ""}},
            &StepPoint::idle_experts);
  return curves;
}

// Returns `ms` rounded to a tenth of a microsecond, which keeps the page short.
double rounded(double ms) {
  return std::round(ms * 1e4) / 1e4;
}

double first_start(const RecordedProcess& part) {
  double first = std::numeric_limits<double>::infinity();
  for (const RecordedRank& rank : part.ranks) {
    for (const RecordedSpan& span : rank.spans) first = std::min(first, span.start_ms);
  }
  return first;
}

// Returns the rank that is drawn in row n if only `drawn` of all `ranks` are drawn. The drawn ranks
// are spread evenly over all.
size_t drawn_rank(size_t n, size_t drawn, size_t ranks) {
  return n * ranks / drawn;
}

Json part_json(const RecordedProcess& part, size_t& boxes) {
  const double first = first_start(part);
  const size_t drawn = std::min(part.ranks.size(), kMostRanksDrawn);
  Json ranks = Json::array();
  for (size_t n = 0; n < drawn; ++n) {
    const RecordedRank& rank = part.ranks[drawn_rank(n, drawn, part.ranks.size())];
    Json list = Json::array();
    for (const RecordedSpan& span : rank.spans) {
      Json box = {span.name, rounded(span.start_ms - first), rounded(span.end_ms - span.start_ms)};
      if (span.bytes >= 0) box.push_back(span.bytes);
      list.push_back(std::move(box));
    }
    boxes += rank.spans.size();
    ranks.push_back({{"name", rank.name}, {"boxes", std::move(list)}});
  }
  return {{"name", part.name}, {"ranks", std::move(ranks)}};
}

Json timeline_json(const std::vector<RecordedStep>& trace) {
  Json steps = Json::array();
  size_t boxes = 0;
  size_t most_ranks = 0;
  for (const RecordedStep& step : trace) {
    if (boxes > kMostBoxes) break;
    Json parts = Json::array();
    for (const RecordedProcess& part : step.processes) {
      most_ranks = std::max(most_ranks, part.ranks.size());
      parts.push_back(part_json(part, boxes));
    }
    steps.push_back({{"step", step.step}, {"parts", std::move(parts)}});
  }
  const size_t steps_left_out = trace.size() - steps.size();
  return {{"steps", std::move(steps)},
          {"steps_left_out", steps_left_out},
          {"ranks_left_out", most_ranks - std::min(most_ranks, kMostRanksDrawn)}};
}

Json value_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json facts_json(const RunFiles& files, const RunFacts& facts) {
  return {{"state", word_of(files.state)},
          {"attempts", files.attempts},
          {"steps", facts.steps_done},
          {"loss", value_or_null(facts.loss)},
          {"samples_per_s", value_or_null(facts.samples_per_s)},
          {"tokens_per_s", value_or_null(facts.tokens_per_s)},
          {"step_ms_median", value_or_null(facts.step_ms_median)},
          {"step_ms_p95", value_or_null(facts.step_ms_p95)}};
}

// Returns the first step of every attempt but the first attempt.
Json restarts_json(const History& history) {
  Json steps = Json::array();
  for (size_t i = 1; i < history.attempts.size(); ++i) {
    steps.push_back(
        {{"attempt", history.attempts[i].attempt}, {"step", history.attempts[i].first_step}});
  }
  return steps;
}

}  // namespace

std::string page_data_json(const RunFiles& files, const RunFacts& facts) {
  Json json = {{"facts", facts_json(files, facts)},
               {"curves", curves_json(files.history)},
               {"attempts", restarts_json(files.history)},
               {"timeline", timeline_json(files.trace)}};
  if (files.summary) json["summary"] = *files.summary;
  return shown_json(json);
}

}  // namespace penstock
