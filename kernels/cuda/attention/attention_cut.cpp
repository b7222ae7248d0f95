#include "kernels/cuda/attention/attention_cut.h"

#include <algorithm>

namespace penstock {
namespace {

int64_t shares(int64_t all, int64_t most) {
  return (all + most - 1) / most;
}

// Returns the size of the largest share if `all` is cut into as few shares as keep each within
// `most`, and the shares are nearly equal.
int64_t even(int64_t all, int64_t most) {
  return shares(all, shares(all, most));
}

// Returns how many units need no more than `limit` bytes, if `taken` units need `bytes`. The answer
// is less than `taken`, and at least one.
int64_t fewer(int64_t taken, int64_t bytes, int64_t limit) {
  const double fitting = static_cast<double>(taken) * static_cast<double>(limit) /
                         static_cast<double>(std::max<int64_t>(bytes, 1));
  return std::clamp(static_cast<int64_t>(fitting), int64_t{1}, taken - 1);
}

// Returns the first unit of share i when `all` units are cut into `count` shares. Share i ends
// before the first unit of share i + 1.
int64_t bound(int64_t all, int64_t count, int64_t i) {
  return i * all / count;
}

}  // namespace

const char* why_not_fused(const AttentionExtents& whole, DType type, bool packed) {
  constexpr int64_t kWholePacks = 8;  // elements of bf16 in the 16 bytes that the library reads
  if (type != DType::BF16) return "elements are not bf16";
  if (packed) return "packed rows";
  if (whole.capped) return "soft-capped scores";
  if (whole.depth % kWholePacks != 0) return "the elements of a head are no multiple of 8";
  if (whole.samples == 0 || whole.queries == 0 || whole.keys == 0) {
    return "there is nothing to compute";
  }
  if (whole.queries == 1)
    // A text that grows has one query and another number of keys each time, so each call would need
    // a new plan.
    return "one query";
  if (whole.window > 0 && !whole.causal) return "a window over the last keys";
  if (whole.window > 0 && whole.lengths) return "a window over keys of a length";
  return nullptr;
}

AttentionCut cut_attention(int64_t samples, int64_t heads, const AttentionLimits& limits,
                           const AttentionWorkspace& workspace) {
  AttentionCut cut{samples, heads, 0};
  for (;;) {
    const std::optional<int64_t> bytes = workspace(cut.samples, cut.heads);
    if (!bytes.has_value()) return {};
    cut.workspace_bytes = *bytes;
    if (*bytes <= limits.enough) return cut;
    if (cut.samples > 1) {
      cut.samples = even(samples, fewer(cut.samples, *bytes, limits.enough));
    } else if (cut.heads > 1) {
      cut.heads = even(heads, fewer(cut.heads, *bytes, limits.enough));
    } else {
      return *bytes <= limits.most ? cut : AttentionCut{0, 0, *bytes};
    }
  }
}

std::vector<AttentionPiece> pieces_of(const AttentionCut& cut, int64_t samples, int64_t heads) {
  std::vector<AttentionPiece> pieces;
  const int64_t by_sample = shares(samples, cut.samples);
  const int64_t by_head = shares(heads, cut.heads);
  for (int64_t s = 0; s < by_sample; ++s) {
    for (int64_t h = 0; h < by_head; ++h) {
      const int64_t sample = bound(samples, by_sample, s);
      const int64_t head = bound(heads, by_head, h);
      pieces.push_back({sample, bound(samples, by_sample, s + 1) - sample, head,
                        bound(heads, by_head, h + 1) - head});
    }
  }
  return pieces;
}

// Returns how many bytes of workspace cuDNN 9.19 asks for when it plans for an H100, exactly. It
// wants the bf16 scores in tiles of 64 queries and 128 keys, an fp32 sum for each query, 256 bytes
// more, and with grouped queries the bf16 gradients of keys and values for each head of queries.
int64_t hopper_workspace_bytes(const AttentionExtents& e) {
  const int64_t matrix = shares(e.queries, 64) * 64 * shares(e.keys, 128) * 128 * 2;
  const int64_t by_query = e.kv_heads < e.heads ? 2 * e.keys * e.depth * 2 : 0;
  return e.samples * e.heads * (matrix + e.queries * int64_t{sizeof(float)} + by_query) + 256;
}

}  // namespace penstock
