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
  // [label, class with the largest logit]: how many targets have both; empty: not asked for.
  std::vector<double> confusion;
  [[nodiscard]] double top_five() const {
    return sums.targets > 0.0 ? among_five / sums.targets : 0.0;
  }
};

// Called with each micro-batch of a pass over the validation data, on the rank that has its logits:
// the index of its first sample in the validation data, and fp32 logits [samples, positions,
// classes], valid during the call.
using LookAtLogits =
    std::function<void(int64_t first_sample, const Batch& batch, std::span<const float> logits)>;

// The functions that a pass over the validation data calls while it goes on; each may be empty.
struct PassWatch {
  LookAtLogits look = nullptr;
  // Called on every rank after each run through the pipeline: `done` of `all` such runs are done.
  std::function<void(int64_t done, int64_t all)> went_on = nullptr;
  // Asked on every rank after each run through the pipeline: where any rank votes to stop, the pass
  // ends there.
  AskVote ask = nullptr;
};

// Tells a user one line.
using SayLine = std::function<void(const std::string& line)>;
// A function for PassWatch::went_on that says how far a pass over `samples` samples is: for the
// first time when it has taken longer than `after`, then once a minute.
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
// must. Samples that fill up the last pass have negative targets and count nothing, but a network
// that also reads the targets (TargetField::is_read) would read these.
void check_validation(const Config& config, const DataSource& source, const TargetField& targets);

// Throws Error(Input) where one of the logits is NaN.
void refuse_no_numbers(std::span<const float> logits);

// Makes one pass over the validation data, as pass_over_validation() does, and also counts the
// labels among the five largest logits and, where `classes` is not 0, which class is taken for
// which. Collective over all ranks. `model` is the pipeline's. `say` (may be empty) tells on rank 0
// how far a long pass is. Throws Error(Input) when there is no validation data, when the loss is
// NaN, and as check_validation() and refuse_no_numbers() do.
[[nodiscard]] Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                                  const Sequential& model, const Station& station,
                                  const SayLine& say, int64_t classes = 0);

// The number of labels >= 0 that are among the five largest of their row; of equal logits the first
// counts as larger. logits [labels, classes].
[[nodiscard]] int64_t count_among_five(std::span<const float> logits,
                                       std::span<const int32_t> labels);

}  // namespace penstock
