#include "runtime/engine/training/evaluation/best.h"

#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

[[noreturn]] void refuse_everywhere(const std::string& why) {
  throw Error(ErrorKind::Input, why, ErrorScope::EveryRank);
}

double value_of(const std::string& metric, const EvalRecord& record) {
  if (metric == "loss") return record.loss;
  return record.accuracy.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

void check_best(const Config& config, int64_t validation_samples, bool is_classifier) {
  const std::string& metric = config.checkpoint.best;
  if (metric == "none") {
    if (config.run.patience == 0) return;
    refuse_everywhere(
        "run.patience = " + std::to_string(config.run.patience) +
        " counts evaluations that are not better by the metric of checkpoint.best, which is "
        "none: give checkpoint.best = \"loss\", or leave run.patience out");
  }
  const std::string given = "checkpoint.best = \"" + metric + "\"";
  if (validation_samples == 0) {
    refuse_everywhere(
        given + " compares losses on validation data, and there are none: set data.validation");
  }
  if (config.run.eval_every == 0) {
    refuse_everywhere(given +
                      " compares evaluations, and there is only the one at the end: set "
                      "run.eval_every");
  }
  if (metric == "accuracy" && !is_classifier) {
    refuse_everywhere(given +
                      " is for classifiers, and this network's evaluations have a loss alone: give "
                      "checkpoint.best = \"loss\"");
  }
}

void take_evaluation(const std::string& metric, const EvalRecord& record, BestEvaluation& best) {
  if (metric == "none") return;
  const double value = value_of(metric, record);
  const bool beats = metric == "loss" ? value < best.value : value > best.value;
  const bool is_finite = std::isfinite(record.loss) && std::isfinite(value);
  if (!is_finite || (best.step > 0 && !beats)) {
    ++best.since;
  } else {
    best = {.step = record.step, .value = value, .samples = record.samples};
  }
}

bool patience_is_over(const RunConfig& run, const BestEvaluation& best) {
  return run.patience > 0 && best.since >= run.patience;
}

bool patience_is_over(const Config& config, const CheckpointState& saved) {
  return saved.best_metric == config.checkpoint.best && patience_is_over(config.run, saved.best);
}

std::string describe(const std::string& metric, const BestEvaluation& best) {
  std::string text =
      "no better " + metric + " on validation data in " + amount_text(best.since, "evaluation");
  if (best.step == 0) return text + ", of which none was finite";
  const std::string value = metric == "accuracy" ? percent_text(best.value) : loss_text(best.value);
  return text + "; the best was " + value + " after step " + std::to_string(best.step);
}

}  // namespace penstock
