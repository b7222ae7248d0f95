// runtime/engine/training/evaluation/evaluation.h -- how good a network is on the validation data,
// in one pass over it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/system/comm/station.h"

namespace penstock {

struct Evaluation {
  LossSums sums;            // over all targets
  double among_five = 0.0;  // targets whose label is one of the five largest logits
  // [label, the class with the largest logit]: how many targets; empty where it was not asked for.
  std::vector<double> confusion;
  [[nodiscard]] double top_five() const {
    return sums.targets > 0.0 ? among_five / sums.targets : 0.0;
  }
};

// Called with each micro-batch of a pass over the validation data, on the rank that has its logits:
// the number of its first sample among all, and fp32 [samples, positions, classes], for the call
// alone.
using LookAtLogits =
    std::function<void(int64_t first_sample, const Batch& batch, std::span<const float> logits)>;

// The functions that a pass over the validation data calls while it goes on; each may be empty.
struct PassWatch {
  LookAtLogits look = nullptr;
  // Called on every rank after each run through the pipeline: how many of all such runs are done.
  std::function<void(int64_t done, int64_t all)> went_on = nullptr;
  // Asked on every rank after each run through the pipeline: where any rank votes to stop, the pass
  // ends there.
  AskVote ask = nullptr;
};

// A function for PassWatch::went_on that says how far a pass over `samples` samples is, where it
// takes long: first `after` that time, then once a minute.
using SayLine = std::function<void(const std::string& line)>;
[[nodiscard]] std::function<void(int64_t done, int64_t all)> told_now_and_then(
    int64_t samples, SayLine say, std::chrono::seconds after = std::chrono::seconds(10));

// Makes one pass over the validation data with the weights as they are now; nothing is changed.
// Collective over all ranks; `source` is open for the pipeline's fields. Returns the same on every
// rank: no targets where there is no validation data, nothing where a vote has ended the pass.
[[nodiscard]] std::optional<LossSums> pass_over_validation(const Config& config, DataSource& source,
                                                           Pipeline& pipeline,
                                                           const Station& station,
                                                           const PassWatch& watch);

// Throws Error(Input) on every rank when the validation data do not fill whole passes although they
// must. What fills up the last pass counts nothing because its targets are negative, but a network
// that also reads the targets (TargetField::is_read) would read those.
void check_validation(const Config& config, const DataSource& source, const TargetField& targets);

// Throws Error(Input) where one of the logits is NaN.
void refuse_no_numbers(std::span<const float> logits);

// Makes such a pass and also counts the labels among the five largest logits and, where `classes`
// is not 0, which class is taken for which. Collective over all ranks. `model` is the pipeline's.
// `say`, on rank 0, is that of told_now_and_then() and may be empty. Throws Error(Input) when there
// is no validation data, when the loss is not a number, and as check_validation() and
// refuse_no_numbers().
[[nodiscard]] Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                                  const Sequential& model, const Station& station,
                                  const SayLine& say, int64_t classes = 0);

// The number of labels >= 0 that are among the five largest of their row; of equal logits the first
// counts as larger. logits [labels, classes].
[[nodiscard]] int64_t count_among_five(std::span<const float> logits,
                                       std::span<const int32_t> labels);

}  // namespace penstock
