// kernels/ops/attention_path.h -- AttentionPath: how a device computes a call of attention, for
// reports and benchmarks.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct AttentionPath {
  bool fused = false;  // a library computes the call in one pass; else kernels of our own do
  std::string why{};   // why our own kernels compute it, in a few words; empty where it is fused
  // For a fused call, the library's backward is called `pieces` times, each time for at most so
  // many samples and query heads. These numbers say nothing of a call that is not fused.
  int64_t samples = 0, heads = 0;
  int64_t pieces = 0;
  int64_t workspace_bytes = 0;  // fused: the most that a forward or a backward of the library takes
};

// "fused by cuDNN, backward in 4 pieces of 1 sample x 32 heads, 256 MiB of workspace", or
// "our own kernels: dropout".
[[nodiscard]] std::string text_of(const AttentionPath& path);

}  // namespace penstock
