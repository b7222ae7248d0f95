// runtime/records/telemetry/closing_table.cpp -- see closing_table.h.
#include "runtime/records/telemetry/closing_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/planning/schedule/text/recompute_text.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr size_t kColumns = 14;
constexpr size_t kLayers = 3;     // the only column of text, which is aligned left
constexpr size_t kMostRows = 64;  // summary.json has all rows
using Row = std::array<std::string, kColumns>;

Row heading() {
  return {"rank",     "stage",     "replica",   "layers",      "parameters",
          "weights",  "gradients", "optimizer", "activations", "workspace",
          "messages", "peak",      "predicted", "busy"};
}

Row row_of(const RankRecord& record) {
  const auto peak = [&](Purpose purpose) { return bytes_text(record.memory.peak_of(purpose)); };
  return {std::to_string(record.rank),
          std::to_string(record.stage),
          std::to_string(record.replica),
          record.layers,
          count_text(static_cast<double>(record.parameters)),
          peak(Purpose::Parameters),
          peak(Purpose::Gradients),
          peak(Purpose::Optimizer),
          peak(Purpose::Activations),
          peak(Purpose::Workspace),
          peak(Purpose::Communication),
          bytes_text(record.memory.total_peak),
          record.predicted_peak_bytes ? bytes_text(*record.predicted_peak_bytes) : "-",
          percent_text(record.busy_fraction)};
}

std::string aligned(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      text += c == 0 ? "" : "  ";
      text += c == kLayers ? fmt::format("{:<{}}", row[c], widths[c])
                           : fmt::format("{:>{}}", row[c], widths[c]);
    }
    text += '\n';
  }
  return text;
}

std::string text_of(const ReplanRecord& replan) {
  std::string times;
  if (replan.measured_before_ms > 0.0 && replan.measured_after_ms > 0.0) {
    times = fmt::format("; a step took {} before and {} after",
                        milliseconds_text(replan.measured_before_ms),
                        milliseconds_text(replan.measured_after_ms));
  }
  return fmt::format("after step {}: layers {} -> {}, {} predicted{}; it took {}", replan.step,
                     fmt::join(replan.before, ","), fmt::join(replan.after, ","),
                     milliseconds_text(replan.predicted_after_ms), times,
                     milliseconds_text(1e3 * replan.seconds));
}

std::string totals(const RunSummary& summary) {
  std::string text = fmt::format("throughput  {} samples/s", count_text(summary.samples_per_s));
  if (summary.tokens_per_s) text += fmt::format(", {} tokens/s", count_text(*summary.tokens_per_s));
  if (summary.loss_share && *summary.loss_share < 1.0) {
    text += fmt::format(" ({} of them with loss)", percent_text(*summary.loss_share));
  }
  if (summary.speed) {
    text += fmt::format(", {:.3g} TFLOP/s per rank ({} of {:.4g}, {})", summary.speed->tflops,
                        percent_text(summary.speed->mfu), summary.speed->peak_tflops,
                        summary.speed->peak_from);
  }
  text +=
      fmt::format("\nstep        {} median, {} 95th percentile; {} in {}",
                  milliseconds_text(summary.step_ms_median), milliseconds_text(summary.step_ms_p95),
                  amount_text(summary.taken, "step"), seconds_text(summary.seconds));
  if (summary.forecast) {
    text += fmt::format("\npredicted   {} a step ({})",
                        milliseconds_text(summary.forecast->step_ms), summary.forecast->basis);
  }
  const std::string ahead = summary.warm_up > 0 ? fmt::format(" +{}", summary.warm_up) : "";
  const std::string kept =
      summary.kept_stages.empty()
          ? ""
          : ", recompute " + recompute_text(summary.recompute, summary.kept_stages);
  text += fmt::format("\nbubble      {} measured, {} predicted for K = {}, M = {} ({}{}{})",
                      percent_text(summary.bubble_measured), percent_text(summary.bubble_predicted),
                      summary.stages, summary.micro_batches, summary.schedule, ahead, kept);
  for (const ReplanRecord& replan : summary.replans) text += "\nre-planned  " + text_of(replan);
  if (summary.dry_run) return text;
  text += fmt::format("\nloss        {}", loss_text(summary.final_loss));
  if (summary.final_eval) {
    text += fmt::format(", {} on validation data", loss_text(summary.final_eval->loss));
    const int64_t step = summary.final_eval->step;
    if (step != summary.steps) text += fmt::format(" after step {}", step);
    if (summary.final_eval->accuracy) {
      text += fmt::format(" (accuracy {})", percent_text(*summary.final_eval->accuracy));
    }
  }
  if (!summary.experts.empty()) text += "\nexperts     " + text_of(summary.experts);
  if (summary.best) {
    const BestRecord& best = *summary.best;
    text += fmt::format(
        "\nbest        {} {} after step {}", best.metric,
        best.metric == "accuracy" ? percent_text(best.value) : loss_text(best.value), best.step);
  }
  if (!summary.ended_early.empty()) {
    text += fmt::format("\nended       after step {}: {}", summary.steps, summary.ended_early);
  }
  return text;
}

}  // namespace

std::string closing_table(const RunSummary& summary) {
  std::vector<Row> rows = {heading()};
  const size_t shown = std::min(summary.ranks_detail.size(), kMostRows);
  for (size_t i = 0; i < shown; ++i) {
    rows.push_back(row_of(summary.ranks_detail[i]));
  }
  std::string text = aligned(rows);
  if (shown < summary.ranks_detail.size()) {
    text +=
        fmt::format("... and {} more in summary.json\n",
                    amount_text(static_cast<int64_t>(summary.ranks_detail.size() - shown), "rank"));
  }
  return text + totals(summary);
}

}  // namespace penstock
