// kernels/ops/attention_path.h -- AttentionPath: how a device computes a call of attention, for
// reports and benchmarks.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct AttentionPath {
  bool fused = false;              // by graphs of a library; else by kernels of our own
  std::string why{};               // why the kernels are our own, in a few words
  int64_t samples = 0, heads = 0;  // fused: that one backward computes
  int64_t pieces = 0;              // fused: backwards that make the whole call
  int64_t workspace_bytes = 0;     // fused: of the largest graph, forward or backward
};

// "fused by cuDNN, backward in 4 pieces of 1 sample x 32 heads, 256 MiB of workspace", or
// "our own kernels: dropout".
[[nodiscard]] std::string text_of(const AttentionPath& path);

}  // namespace penstock
