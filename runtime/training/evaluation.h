// runtime/training/evaluation.h -- how good a network is on the validation data, in one pass over
// it.
#pragma once

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

// Collective. `source` is open for the pipeline's fields. Throws
// Error(Input) when there is no validation data.
[[nodiscard]] Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                                  Network& network, Device& device);

// Labels >= 0 that are among the five largest of their row; of equal logits the first counts as
// larger. logits [labels, classes].
[[nodiscard]] int64_t count_among_five(std::span<const float> logits,
                                       std::span<const int32_t> labels);

}  // namespace penstock
