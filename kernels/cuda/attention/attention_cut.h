// kernels/cuda/attention/attention_cut.h -- which calls of attention go to a library's fused
// kernels, and how a call is cut into pieces where it would take more workspace at once than is
// sensible. Pure, and compiled on every machine: the counting device forecasts with it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/shape.h"

namespace penstock {

// What a graph of the library computes: `heads` heads of `samples` samples, in tensors whose
// positions have `all_heads`. Either the heads are all heads, or there is one sample. Head h of the
// queries reads head h / (heads / kv_heads) of the keys.
struct AttentionExtents {
  int64_t samples = 0, queries = 0, keys = 0, depth = 0;  // depth: elements of a head
  int64_t heads = 0, all_heads = 0;                       // of queries
  int64_t kv_heads = 0, all_kv_heads = 0;                 // of keys and values
  bool causal = false;                                    // query i sees keys 0 .. i
  int64_t window = 0;    // > 0, of causal queries: query i sees the keys from i - window + 1 on
  bool lengths = false;  // a sample has as many keys as its length on the device says
  float dropout = 0.0F;  // of the probabilities
  // NOLINTNEXTLINE(modernize-use-nullptr): there is none here
  auto operator<=>(const AttentionExtents&) const = default;
};

// Why the library is not asked for a whole call, in a few words; null: it is asked. `packed`:
// queries see keys from a first one on that the device holds (AttentionMask::starts).
[[nodiscard]] const char* why_not_fused(const AttentionExtents& whole, DType type, bool packed);

// Bytes of workspace. cuDNN's deterministic backward on Hopper keeps two bytes for every query and
// key of every head: 256 MiB a sample of 2,048 positions and 32 heads.
struct AttentionLimits {
  // The most that a piece takes where it can be cut to that: 128 heads of 2,048 positions, or two
  // of 16,384. On an H200 two halves of such a call took 0.986 ms where the whole took 0.874. A
  // sixteenth more is for workspace besides the matrices.
  int64_t enough = int64_t{1088} << 20;
  // The most that a single head of a single sample, which cannot be cut, may take: 46,000
  // positions.
  int64_t most = int64_t{4} << 30;
};

// Bytes that the library takes for so many samples and heads of keys (with the queries that read
// them) at once; null: it refuses them. Asking may be slow (a plan is made).
using AttentionWorkspace = std::function<std::optional<int64_t>(int64_t samples, int64_t heads)>;

// The largest piece: all heads of keys of some samples, or some of one sample.
struct AttentionCut {
  int64_t samples = 0, heads = 0;  // 0: it cannot be done
  // Bytes that the piece takes. Where it cannot be done: what one head of one sample would take, or
  // 0 where the library refuses.
  int64_t workspace_bytes = 0;
  [[nodiscard]] bool possible() const { return samples > 0; }
};

// Pieces as large as the limits allow and of nearly the same size; samples and heads are >= 1.
// `workspace` is asked for the whole call, then for the pieces that its answer suggests: seldom
// more than twice.
[[nodiscard]] AttentionCut cut_attention(int64_t samples, int64_t heads,
                                         const AttentionLimits& limits,
                                         const AttentionWorkspace& workspace);

// `heads` heads of keys of `samples` samples.
struct AttentionPiece {
  int64_t first_sample, samples, first_head, heads;
  bool operator==(const AttentionPiece&) const = default;
};

// The pieces of a possible cut, in order. None is larger than the cut says, and they differ by one
// sample or one head.
[[nodiscard]] std::vector<AttentionPiece> pieces_of(const AttentionCut& cut, int64_t samples,
                                                    int64_t heads);

// The bytes of workspace of cuDNN's deterministic backward on Hopper.
[[nodiscard]] int64_t hopper_workspace_bytes(const AttentionExtents& extents);

}  // namespace penstock
