// kernels/cuda/attention/cudnn_attention_plans.h -- asks cuDNN whether it would take a call of
// attention on a GPU that is only described to it, and with how much workspace.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

// What cuDNN answers for one graph.
struct AttentionPlan {
  std::string trouble;  // why cuDNN does not take the graph; empty: it does
  int64_t workspace_bytes = 0;
};

// A GPU that cuDNN knows from its description alone, and its architecture: ten times the compute
// capability (90: Hopper).
struct DescribedGpu {
  std::string description;  // JSON, as cudnnBackend's device properties are written
  int architecture = 0;
};

// Returns why the cuDNN that is linked cannot plan for such a GPU; empty where it can.
[[nodiscard]] std::string describing_trouble(const DescribedGpu& gpu);

// Return what cuDNN answers for the graphs that attention_graphs() would make for these extents.
// `scale` multiplies q k^T. Nothing is run, and no device is needed.
[[nodiscard]] AttentionPlan forward_plan(const DescribedGpu& gpu, const AttentionExtents& extents,
                                         float scale);
[[nodiscard]] AttentionPlan backward_plan(const DescribedGpu& gpu, const AttentionExtents& extents,
                                          float scale);

}  // namespace penstock
