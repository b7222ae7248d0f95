// runtime/engine/training/evaluation/evaluations.h -- Evaluations: the evaluations that a run makes
// between its steps: when one is due, what it shows, and which is the best so far.
//
// Every rank has one. A pass over the validation data is in evaluation.h, the choice of the best in
// best.h; here a pass is told of, put off where the run is asked to stop, and judged: a loss that
// is not finite after the run's last step means that the weights are spoilt, and ends the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/step.h"
#include "runtime/engine/training/stopping.h"
#include "runtime/records/telemetry/reporter.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// These are told of evaluations.
struct EvaluationListeners {
  Reporter* reporter = nullptr;  // null except on rank 0
  Stopping* stopping = nullptr;  // asked during a pass; null: nothing stops the run
};

class Evaluations {
 public:
  // All arguments must outlive this. `is_classifier`: whether evaluations have an accuracy.
  // `station`: which rank this is, with its network, its place in stages x replicas and its device.
  Evaluations(const Config& config, bool is_classifier, DataSource& source, Pipeline& pipeline,
              const Station& station, const EvaluationListeners& listeners);

  // Called once the data are open, with where the run begins: takes over the best evaluation so
  // far, unless it was made on another number of samples, which is noted. Throws Error(Input) on
  // every rank where checkpoint.best or run.patience asks for what evaluations do not record.
  void open(const Progress& from);

  // Whether an evaluation is due after this step.
  [[nodiscard]] bool is_due(int64_t step) const;
  // Evaluates after this step, with the averages of the weights where `steps` keeps them.
  // Collective over all ranks. Returns false where the next attempt has to do it again: a stop was
  // asked for meanwhile, or the run ends here and the loss is not finite (spoilt()).
  [[nodiscard]] bool evaluate(int64_t step, Step& steps);
  // Makes the evaluation that an earlier attempt has put off, if `from` owes one. Returns what
  // evaluate() does, and true where there is none to make.
  [[nodiscard]] bool make_up(const Progress& from, Step& steps);
  // Notes that the evaluation after this step is left to the next attempt, since a stop was asked
  // for.
  void put_off(int64_t step);

  // The best evaluation so far, by the metric of checkpoint.best.
  [[nodiscard]] const BestEvaluation& best() const { return best_; }
  // Whether run.patience ends the run.
  [[nodiscard]] bool patience_is_over() const;
  // Why the run ends as diverged: the loss on validation data is not finite; empty: it does not.
  [[nodiscard]] const std::string& spoilt() const { return spoilt_; }

 private:
  void note(const std::string& line) const;
  [[nodiscard]] bool stops() const;
  // The record of a finished pass, as yet without `best`.
  [[nodiscard]] EvalRecord record_of(int64_t step, const LossSums& sums, double seconds) const;
  // Takes the record into account and tells of it. Returns what evaluate() does.
  [[nodiscard]] bool conclude(EvalRecord record);

  const Config& config_;
  const bool is_classifier_;
  DataSource& source_;
  Pipeline& pipeline_;
  const Station station_;
  const EvaluationListeners listeners_;
  BestEvaluation best_;
  std::string spoilt_;
};

}  // namespace penstock
