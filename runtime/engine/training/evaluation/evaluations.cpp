#include "runtime/engine/training/evaluation/evaluations.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "runtime/engine/training/evaluation/best.h"
#include "runtime/engine/training/evaluation/evaluation.h"
#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

Evaluations::Evaluations(const Config& config, bool is_classifier, DataSource& source,
                         Pipeline& pipeline, const Station& station,
                         const EvaluationListeners& listeners)
    : config_(config),
      is_classifier_(is_classifier),
      source_(source),
      pipeline_(pipeline),
      station_(station),
      listeners_(listeners) {}

void Evaluations::open(const Progress& from) {
  const int64_t samples = source_.facts().validation_samples;
  check_best(config_, samples, is_classifier_);
  if (config_.run.eval_every > 0 && samples == 0) {
    note("note: run.eval_every is " + std::to_string(config_.run.eval_every) +
         ", and nothing is evaluated: there are no validation data (data.validation)");
  }
  best_ = from.best;
  if (best_.samples == 0 || best_.samples == samples) return;
  note("note: data.validation has " + std::to_string(samples) + " samples and had " +
       std::to_string(best_.samples) + " when the best evaluation so far was made, after step " +
       std::to_string(best_.step) + ": the best is looked for anew");
  best_ = {};
}

bool Evaluations::is_due(int64_t step) const {
  const int64_t every = config_.run.eval_every;
  return source_.facts().validation_samples > 0 &&
         (step == config_.run.steps || (every > 0 && step % every == 0));
}

bool Evaluations::evaluate(int64_t step, Step& steps) {
  const auto start = std::chrono::steady_clock::now();
  const ActivityScope evaluating(station_.network.activity_log(),
                                 {.activity = Activity::Evaluation, .step = step});
  PassWatch watch;
  watch.went_on = told_now_and_then(source_.facts().validation_samples,
                                    [this](const std::string& line) { note(line); });
  watch.ask = [this] { return StepVote{.stop = stops()}; };
  std::optional<LossSums> sums;
  steps.with_averages(
      [&] { sums = pass_over_validation(config_, source_, pipeline_, station_, watch); });
  if (!sums) {
    put_off(step);
    return false;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return conclude(record_of(step, *sums, taken.count()));
}

bool Evaluations::make_up(const Progress& from, Step& steps) {
  if (!from.owes_evaluation) return true;
  if (source_.facts().validation_samples > 0) return evaluate(from.step, steps);
  note("note: the evaluation after step " + std::to_string(from.step) +
       ", which was put off, is left out: there is no validation data now");
  return true;
}

void Evaluations::put_off(int64_t step) {
  note("the evaluation after step " + std::to_string(step) +
       " is put off, since a stop was asked for: the run does it first when it goes on");
}

bool Evaluations::patience_is_over() const {
  return penstock::patience_is_over(config_.run, best_);
}

void Evaluations::note(const std::string& line) const {
  if (listeners_.reporter != nullptr) listeners_.reporter->note(line);
}

bool Evaluations::stops() const {
  return listeners_.stopping != nullptr && listeners_.stopping->is_due();
}

EvalRecord Evaluations::record_of(int64_t step, const LossSums& sums, double seconds) const {
  EvalRecord record;
  record.step = step;
  record.loss = sums.mean();
  if (is_classifier_) record.accuracy = sums.accuracy();
  record.samples = source_.facts().validation_samples;
  record.seconds = seconds;
  return record;
}

bool Evaluations::conclude(EvalRecord record) {
  BestEvaluation best = best_;
  take_evaluation(config_.checkpoint.best, record, best);
  const bool is_finite = std::isfinite(record.loss);
  const bool spoils = !is_finite && (record.step == config_.run.steps ||
                                     penstock::patience_is_over(config_.run, best));
  if (!spoils) best_ = best;  // else the run ends as diverged; if resumed, it evaluates again
  record.best = best_.step == record.step;
  if (listeners_.reporter != nullptr) listeners_.reporter->evaluated(record);
  if (is_finite) return true;
  const std::string what = "the loss on validation data after step " + std::to_string(record.step) +
                           " is not finite: the last updates have spoilt the weights";
  if (spoils) {
    spoilt_ = what;
  } else {
    note("warning: " + what);
  }
  return !spoils;
}

}  // namespace penstock
