// runtime/training/evaluation/evaluation.h -- how good a network is on the validation data, in one
// pass over it.
#pragma once

#include <functional>
#include <span>

#include "runtime/comm/station.h"
#include "runtime/pipeline/pipeline.h"
#include "runtime/training/data_source.h"
#include "runtime/training/metrics.h"

namespace penstock {

struct Evaluation {
  LossSums sums;            // over all targets
  double among_five = 0.0;  // targets whose label is one of the five largest logits
  [[nodiscard]] double top_five() const {
    return sums.targets > 0.0 ? among_five / sums.targets : 0.0;
  }
};

// Told of each micro-batch of a pass over the validation data, on the rank that has its logits:
// which sample of all its first one is, and fp32 [samples, positions, classes], for the call alone.
using LookAtLogits =
    std::function<void(int64_t first_sample, const Batch& batch, std::span<const float> logits)>;

// Collective over all ranks, in one pass over the validation data; `source` is open for the
// pipeline's fields. `look` may be empty. With the weights as they are now; nothing is changed.
[[nodiscard]] LossSums pass_over_validation(const Config& config, DataSource& source,
                                            Pipeline& pipeline, const Station& station,
                                            const LookAtLogits& look);

// Throws Error(Input) on every rank when the validation data do not fill whole passes although they
// must: what fills up the last one counts nothing because its targets are negative, and a network
// that reads the targets too (TargetField::is_read) would read those.
void check_validation(const Config& config, const DataSource& source, const TargetField& targets);

// As pass_over_validation(). The same on every rank; no targets where there is no validation data.
[[nodiscard]] LossSums validation_loss(const Config& config, DataSource& source, Pipeline& pipeline,
                                       const Station& station);

// Collective, likewise, and counts the five largest as well. `model` is the pipeline's. Throws
// Error(Input) when there is no validation data.
[[nodiscard]] Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                                  const Sequential& model, const Station& station);

// Labels >= 0 that are among the five largest of their row; of equal logits the first counts as
// larger. logits [labels, classes].
[[nodiscard]] int64_t count_among_five(std::span<const float> logits,
                                       std::span<const int32_t> labels);

}  // namespace penstock
