// kernels/cuda/attention/cudnn_attention_plans.h -- what cuDNN would do on a GPU that is not there.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

struct AttentionPlan {
  std::string trouble;  // why cuDNN does not take the graph; empty: it does
  int64_t workspace_bytes = 0;
};

// A GPU that cuDNN knows from its description alone, and the architecture of it (90: Hopper).
struct DescribedGpu {
  std::string description;  // JSON, as cudnnBackend's device properties are written
  int architecture = 0;
};

// Whether the cuDNN that is linked can plan for such a GPU: why not, or empty.
[[nodiscard]] std::string describing_trouble(const DescribedGpu& gpu);

// The plans of the graphs that attention_graphs() makes. Nothing is run, and no device is needed.
[[nodiscard]] AttentionPlan forward_plan(const DescribedGpu& gpu, const AttentionExtents& extents,
                                         float scale);
[[nodiscard]] AttentionPlan backward_plan(const DescribedGpu& gpu, const AttentionExtents& extents,
                                          float scale);

}  // namespace penstock
