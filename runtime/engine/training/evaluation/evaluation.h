// runtime/engine/training/evaluation/evaluation.h -- evaluates a network on the validation data:
// the loss, the accuracy, which class is taken for which.
//
// pass_over_validation() goes once over all validation data and returns sums of the loss: training
// uses it between steps, and answers.h to look at logits. evaluate() is what `penstock eval`
// prints. Both are collective over all ranks, and the network may be at any number of stages and
// replicas. They run the pipeline as often as it takes; each run takes as many samples as D
// replicas x M micro-batches hold.
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

// What evaluate() returns; the same on every rank.
struct Evaluation {
  LossSums sums;            // loss and hits over all targets, without auxiliary losses (metrics.h)
  double among_five = 0.0;  // how many targets have a label that is among the five largest logits
  // [label, class with the largest logit], row-major: how many targets; empty: not asked for.
  std::vector<double> confusion;
  // The top-five accuracy, 0 to 1.
  [[nodiscard]] double top_five() const {
    return sums.targets > 0.0 ? among_five / sums.targets : 0.0;
  }
};

// Called with each micro-batch of validation data, on the rank that has its logits. `first_sample`:
// the index in the validation data of the micro-batch's first sample. `logits`: fp32, [samples,
// positions, classes]; valid during the call.
using LookAtLogits =
    std::function<void(int64_t first_sample, const Batch& batch, std::span<const float> logits)>;

// What a pass over the validation data calls while it goes on; each may be empty.
struct PassWatch {
  LookAtLogits look = nullptr;
  // Called on every rank after each run through the pipeline: `done` of `all` such runs are done.
  std::function<void(int64_t done, int64_t all)> went_on = nullptr;
  // Gives this rank's vote, after each run through the pipeline. Where any rank votes to stop, the
  // pass ends there on every rank.
  AskVote ask = nullptr;
};

// Tells a user one line.
using SayLine = std::function<void(const std::string& line)>;
// A function for PassWatch::went_on that tells how far a pass over `samples` samples is: first when
// it has taken longer than `after`, then once a minute.
[[nodiscard]] std::function<void(int64_t done, int64_t all)> told_now_and_then(
    int64_t samples, SayLine say, std::chrono::seconds after = std::chrono::seconds(10));

// Makes one pass over the validation data with the present weights; changes nothing. Collective
// over all ranks; `source` is open for the pipeline's fields. Returns the sums, the same on every
// rank: without targets where there is no validation data; nothing where a vote has ended the pass.
// `station`: which rank this is, with its network, its place in stages x replicas and its device.
[[nodiscard]] std::optional<LossSums> pass_over_validation(const Config& config, DataSource& source,
                                                           Pipeline& pipeline,
                                                           const Station& station,
                                                           const PassWatch& watch);

// Throws Error(Input) on every rank when the network reads the targets as inputs, too
// (TargetField::is_read), and the validation data do not fill whole runs through the pipeline. The
// last run is filled up with samples whose targets are negative: the loss leaves them out, but such
// a network would read them.
void check_validation(const Config& config, const DataSource& source, const TargetField& targets);

// Throws Error(Input) where one of the logits is NaN or plus infinity.
void refuse_no_numbers(std::span<const float> logits);

// Makes one pass as pass_over_validation() does, and also counts labels among the five largest
// logits and, where `classes` is not 0, which of so many classes is taken for which. Collective
// over all ranks. `model` is the network that `pipeline` runs. `say` (may be empty) is called on
// rank 0 with how far a long pass is. Throws Error(Input) when there is no validation data or the
// loss is NaN, and as check_validation() and refuse_no_numbers() do.
[[nodiscard]] Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                                  const Sequential& model, const Station& station,
                                  const SayLine& say, int64_t classes = 0);

// How many labels are among the five largest logits of their rows; labels below 0 are left out, and
// of equal logits the first counts as larger. `logits`: [labels, classes].
[[nodiscard]] int64_t count_among_five(std::span<const float> logits,
                                       std::span<const int32_t> labels);

}  // namespace penstock
