#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/records/report/html.h"
#include "runtime/records/report/page_bars.h"
#include "runtime/records/report/time_shares.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr size_t kMostTimeBars = 32;

struct Category {
  const char* style;
  const char* name;
  double TimeShares::*share;
};
constexpr Category kCategories[] = {
    {"t-compute", "compute", &TimeShares::compute},
    {"t-recompute", "recompute", &TimeShares::recompute},
    {"t-bubble", "bubble (waiting for other ranks)", &TimeShares::bubble},
    {"t-comm", "exposed communication", &TimeShares::communication},
    {"t-reduce", "reduction over replicas, exposed", &TimeShares::reduction},
    {"t-optimizer", "optimizer", &TimeShares::optimizer},
};

// Returns the shares of time of all recorded steps. `name` says which process is meant: "measured"
// or "predicted".
std::vector<StepShares> shares_of(const std::vector<RecordedStep>& trace, const char* name) {
  std::vector<StepShares> all;
  for (const RecordedStep& step : trace) {
    for (const RecordedProcess& part : step.processes) {
      if (part.name == name) all.push_back(time_shares(part));
    }
  }
  return all;
}

std::vector<StepShares> only_rank(const std::vector<StepShares>& steps, size_t rank) {
  std::vector<StepShares> one;
  for (const StepShares& step : steps) {
    if (rank < step.ranks.size()) {
      one.push_back({.length_ms = step.length_ms, .ranks = {step.ranks[rank]}});
    }
  }
  return one;
}

// These are times that the metrics have and the trace lacks, as means over the recorded steps.
struct Outside {
  std::optional<double> step_ms, data_ms;
};

Outside outside_of(const RunFiles& files) {
  Outside outside;
  double step_ms = 0;
  double data_ms = 0;
  double count = 0;
  for (const RecordedStep& step : files.trace) {
    const auto found =
        std::ranges::lower_bound(files.history.steps, step.step, {}, &StepPoint::step);
    if (found == files.history.steps.end() || found->step != step.step) return {};
    step_ms += found->step_ms;
    data_ms += found->data_wait_ms;
    ++count;
  }
  if (std::isfinite(step_ms)) outside.step_ms = step_ms / count;
  if (std::isfinite(data_ms)) outside.data_ms = data_ms / count;
  return outside;
}

std::string share_row(const std::string& style, const std::string& name,
                      const std::optional<double>& measured, double whole,
                      const std::optional<double>& predicted) {
  const auto cell = [](const std::optional<double>& ms) {
    return ms ? fmt::format("{:.2f}", *ms) : std::string("unknown");
  };
  return fmt::format(
      "<tr><th scope=\"row\"><span class=\"swatch {}\"></span>{}</th><td>{}</td><td>{}</td>"
      "<td>{}</td></tr>\n",
      style, escaped_html(name), cell(measured),
      measured && whole > 0 ? percent_text(*measured / whole) : "",
      predicted ? cell(predicted) : "–");
}

std::string share_table(const TimeShares& measured, const std::optional<TimeShares>& predicted,
                        const Outside& outside, bool replicas) {
  const double inside = measured.total();
  const double whole = std::max(outside.step_ms.value_or(inside), inside);
  std::string table =
      "<div class=\"scroll\"><table class=\"shares\">\n<thead><tr><th>ms a step, mean over ranks "
      "and "
      "recorded steps</th><th>measured</th><th>share</th><th>predicted</th></tr></thead>\n";
  for (const Category& category : kCategories) {
    if (category.share == &TimeShares::reduction && !replicas) continue;
    table += share_row(category.style, category.name, measured.*category.share, whole,
                       predicted ? std::optional(predicted.value().*category.share) : std::nullopt);
  }
  const std::optional<double> data = outside.data_ms;
  table += share_row("t-data", "waiting for data (rank 0)", data, whole, std::nullopt);
  const std::optional<double> other =
      outside.step_ms ? std::optional(std::max(0.0, whole - inside - data.value_or(0)))
                      : std::nullopt;
  table += share_row("t-other", "outside the recorded instructions", other, whole, std::nullopt);
  table += share_row("none", "the step", whole, whole,
                     predicted ? std::optional(predicted->total()) : std::nullopt);
  return table + "</table></div>\n";
}

std::string share_bar(const TimeShares& shares, double most) {
  std::string bar;
  for (const Category& category : kCategories) {
    const double ms = shares.*category.share;
    if (ms <= 0) continue;
    bar += fmt::format("<span class=\"{}\" style=\"width:{:.3f}%\" title=\"{}: {}\"></span>",
                       category.style, 100 * ms / most, category.name, milliseconds_text(ms));
  }
  return bar;
}

std::string share_bars(const std::vector<StepShares>& steps) {
  size_t ranks = 0;
  for (const StepShares& step : steps) ranks = std::max(ranks, step.ranks.size());
  const double most = std::max(mean_of(steps).total(), 1e-9);
  const size_t shown = std::min(ranks, kMostTimeBars);
  std::string text = "<div class=\"rows\">\n";
  for (size_t n = 0; n < shown; ++n) {
    const size_t rank = n * ranks / shown;
    const TimeShares mean = mean_of(only_rank(steps, rank));
    text += fmt::format(
        "<div class=\"row\"><span class=\"who\">rank {}</span><div class=\"bars\"><div "
        "class=\"bar\">{}</div></div><span class=\"what\"><b>{}</b> computing</span></div>\n",
        rank, share_bar(mean, most),
        percent_text((mean.compute + mean.recompute) / std::max(mean.total(), 1e-9)));
  }
  text += "</div>\n";
  if (shown < ranks) {
    text += fmt::format("<p class=\"small\">{} of {} ranks, spread evenly.</p>\n", shown, ranks);
  }
  return text;
}

std::string explanation(bool replicas) {
  std::string text =
      "<p class=\"small\">From the instructions in trace.json, whose steps are few: "
      "other "
      "steps may differ. A wait for a message is bubble until its sender has posted it, exposed "
      "communication from then on. The bubble in the figures above is of all steps and counts "
      "exposed communication in.";
  if (replicas) {
    text +=
        " Sums over replicas run beside the rest; what is left of them after the last backward "
        "is exposed.";
  }
  return text +
         " What lies outside the recorded instructions (preparing the step, reading its "
         "figures) is not told apart; while rank 0 waits for data, others may be in their "
         "bubble.</p>\n";
}

}  // namespace

std::string time_section(const RunFiles& files, const RunFacts& facts) {
  std::string text = "<section id=\"time\">\n<h2>Where the time went</h2>\n";
  const std::vector<StepShares> measured = shares_of(files.trace, "measured");
  const TimeShares mean = mean_of(measured);
  if (mean.total() <= 0) {
    return text +
           "<p class=\"none\">Unknown: there are no recorded steps (trace.json), which an "
           "attempt writes when it ends and run.trace is above 0.</p>\n</section>\n";
  }
  const std::vector<StepShares> predicted = shares_of(files.trace, "predicted");
  const bool replicas = facts.replicas.value_or(1) > 1;
  text += older_attempt_note(facts.summary_attempt, files.attempts);
  text += share_bars(measured);
  text += share_table(mean, predicted.empty() ? std::nullopt : std::optional(mean_of(predicted)),
                      outside_of(files), replicas);
  return text + explanation(replicas) + "</section>\n";
}

}  // namespace penstock
