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

// Describes a piece of a call, which a graph of the library computes: `heads` heads of `samples`
// samples. The tensors are those of the whole call, in which the elements of all_heads heads lie
// side by side at each position. Where a piece has fewer than all heads, it has one sample. Head h
// of the queries reads head h / (heads / kv_heads) of the keys.
struct AttentionExtents {
  int64_t samples = 0, queries = 0, keys = 0, depth = 0;  // depth: elements of a head
  int64_t heads = 0, all_heads = 0;                       // of queries
  int64_t kv_heads = 0, all_kv_heads = 0;                 // of keys and values
  bool causal = false;                                    // query i sees keys 0 .. i
  int64_t window = 0;    // > 0, of causal queries: query i sees the keys from i - window + 1 on
  bool lengths = false;  // a sample has as many keys as its length on the device says
  bool capped = false;   // scores are soft-capped
  float dropout = 0.0F;  // of the probabilities
  // NOLINTNEXTLINE(modernize-use-nullptr): there is none here
  auto operator<=>(const AttentionExtents&) const = default;
};

// Returns why the library is not asked for a whole call, in a few words, or null where it is asked.
// `packed`: the call has AttentionMask::starts, by which each query sees the keys from a first one
// on.
[[nodiscard]] const char* why_not_fused(const AttentionExtents& whole, DType type, bool packed);

// Limits of the workspace of a piece, in bytes. cuDNN's deterministic backward on Hopper keeps two
// bytes for every pair of a query and a key of every head: 256 MiB for a sample of 2,048 positions
// and 32 heads.
struct AttentionLimits {
  // A piece that takes more is cut further, if it has more than one sample or one head of keys. It
  // is enough for 128 heads of 2,048 positions, or two of 16,384, and a sixteenth more for
  // workspace besides the matrices. Smaller pieces are slower: on an H200 two halves of such a call
  // took 0.986 ms, the whole took 0.874 ms.
  int64_t enough = int64_t{1088} << 20;
  // The most that one head of keys of one sample, which cannot be cut further, may take: 46,000
  // positions do. A call that would take more is not computed by the library.
  int64_t most = int64_t{4} << 30;
};

// A function that returns how many bytes of workspace the library takes for a piece of so many
// samples and heads of keys, with the heads of queries that read them; null where it refuses the
// piece. Asking may be slow (a plan is made).
using AttentionWorkspace = std::function<std::optional<int64_t>(int64_t samples, int64_t heads)>;

// The size of the largest piece of a call: some samples with all heads of keys, or one sample with
// some heads of keys.
struct AttentionCut {
  int64_t samples = 0, heads = 0;  // heads: of keys; both 0: the library cannot compute the call
  // Bytes that the piece takes. Where the library cannot compute the call, these are the bytes that
  // one head of keys of one sample would take, or 0 where it refused a piece.
  int64_t workspace_bytes = 0;
  [[nodiscard]] bool possible() const { return samples > 0; }
};

// Cuts a call of `samples` samples and `heads` heads of keys (both >= 1) into pieces as large as
// the limits allow and of nearly the same size, and returns the size of the largest. `workspace` is
// asked for the whole call, then for the pieces that its answer suggests: seldom more than twice.
[[nodiscard]] AttentionCut cut_attention(int64_t samples, int64_t heads,
                                         const AttentionLimits& limits,
                                         const AttentionWorkspace& workspace);

// One piece: `heads` heads of keys from first_head on, of `samples` samples from first_sample on.
struct AttentionPiece {
  int64_t first_sample, samples, first_head, heads;
  bool operator==(const AttentionPiece&) const = default;
};

// Returns the pieces into which a possible() cut divides a call of `samples` samples and `heads`
// heads of keys, in order. No piece is larger than the cut says, and pieces differ by at most one
// sample or one head.
[[nodiscard]] std::vector<AttentionPiece> pieces_of(const AttentionCut& cut, int64_t samples,
                                                    int64_t heads);

// Returns the bytes of workspace that cuDNN's deterministic backward of that piece takes on Hopper.
[[nodiscard]] int64_t hopper_workspace_bytes(const AttentionExtents& extents);

}  // namespace penstock
