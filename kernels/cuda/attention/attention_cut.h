// kernels/cuda/attention/attention_cut.h -- how a call of a library's fused attention is cut into
// pieces where it wants more workspace at once than is sensible. Pure, and compiled on every
// machine: the counting device forecasts with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace penstock {

// Bytes of workspace. cuDNN's deterministic backward on Hopper keeps two bytes for every query and
// key of every head: 256 MiB a sample of 2,048 positions and 32 heads.
struct AttentionLimits {
  // What a piece takes where it can be cut to that. 512 MiB hold 64 heads of 2,048 positions, or
  // one of 16,384, with a thread block to each multiprocessor of a large GPU: more would be no
  // faster. A sixteenth more is for what comes on top of the matrices.
  int64_t enough = int64_t{544} << 20;
  // What a single head of a single sample, which cannot be cut, may take: 46,000 positions.
  int64_t most = int64_t{4} << 30;
};

// Bytes that the library wants for so many samples and heads at once; nothing: it does not take
// them. Asking may be slow (a plan is made).
using AttentionWorkspace = std::function<std::optional<int64_t>(int64_t samples, int64_t heads)>;

// The largest piece: all heads of some samples, or some heads of one sample.
struct AttentionCut {
  int64_t samples = 0, heads = 0;  // 0: it cannot be done
  // That the piece takes. Where it cannot be done: what one head of one sample would take, or 0
  // where the library refuses.
  int64_t workspace_bytes = 0;
  [[nodiscard]] bool possible() const { return samples > 0; }
};

// Pieces as large as the limits allow and of nearly the same size; samples and heads are >= 1.
// `workspace` is asked for the whole, then for what its answer lets expect: seldom more than twice.
[[nodiscard]] AttentionCut cut_attention(int64_t samples, int64_t heads,
                                         const AttentionLimits& limits,
                                         const AttentionWorkspace& workspace);

struct AttentionPiece {
  int64_t first_sample, samples, first_head, heads;
  bool operator==(const AttentionPiece&) const = default;
};

// The pieces of a possible cut, in order. None is larger than the cut says, and they differ by one
// sample or one head.
[[nodiscard]] std::vector<AttentionPiece> pieces_of(const AttentionCut& cut, int64_t samples,
                                                    int64_t heads);

// What cuDNN's deterministic backward wants on Hopper.
[[nodiscard]] int64_t hopper_workspace_bytes(int64_t samples, int64_t heads, int64_t queries,
                                             int64_t keys);

}  // namespace penstock
