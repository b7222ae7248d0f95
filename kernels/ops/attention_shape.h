// kernels/ops/attention_shape.h -- the sizes of a call of attention, and which keys a query sees:
// pure, shared by all devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/ops/attention.h"

namespace penstock {

// The sizes of a call: queries and keys of a sample, elements (`depth`) of a head.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, kv_heads, depth;
  [[nodiscard]] int64_t width() const { return heads * depth; }        // of q and out
  [[nodiscard]] int64_t kv_width() const { return kv_heads * depth; }  // of k and v
  [[nodiscard]] int64_t group() const { return heads / kv_heads; }  // query heads to a head of keys
  // Whether there are no samples, queries, keys or elements: results and gradients are then zeros.
  [[nodiscard]] bool see_nothing() const { return batch * queries * keys * width() == 0; }
};

// The sizes of the call of AttentionOps with these arguments. Throws Error(Internal), which names
// `op`, where tensors, masks and options do not fit each other, and Error(Input) where the dropout
// rate is not in [0, 1).
[[nodiscard]] AttentionSizes attention_sizes(const char* op, const Tensor& q, const Tensor& k,
                                             const Tensor& v, const AttentionMask& mask,
                                             const AttentionOptions& options);

// The sizes of a call of AttentionOps::rotary(): positions of a sample (`time`), heads, elements of
// a head (`depth`).
struct RotarySizes {
  int64_t time, heads, depth;
};
// Returns them. Throws Error(Internal), which names `op`, where the tensors do not fit each other.
[[nodiscard]] RotarySizes rotary_sizes(const char* op, const Tensor& y, const Tensor& x,
                                       const Tensor& table, const Tensor* places);

// The keys [begin, end) that a query sees. `lengths` and `starts` point at the elements of
// AttentionMask's tensors. They are null where the call has no such mask; on a device whose memory
// the host cannot read they are null, too, and the view is then that of the call without masks.
struct AttentionView {
  int64_t queries = 0, keys = 0;
  bool causal = false;
  int64_t window = 0;
  const int32_t* lengths = nullptr;
  const int32_t* starts = nullptr;

  // One past the last key.
  [[nodiscard]] int64_t end(int64_t sample, int64_t query) const {
    const int64_t all = causal ? query + 1 : keys;
    return lengths == nullptr ? all : std::clamp<int64_t>(lengths[sample], 0, all);
  }
  // The first key; never decreases from query to query.
  [[nodiscard]] int64_t begin(int64_t sample, int64_t query) const {
    const int64_t last = end(sample, query);
    int64_t first = 0;
    if (window > 0) first = std::max<int64_t>(0, (causal ? query + 1 : last) - window);
    if (starts != nullptr) first = std::max<int64_t>(first, starts[sample * queries + query]);
    return std::min(first, last);
  }
  // Whether begin() is 0 for every query.
  [[nodiscard]] bool from_the_first() const { return window == 0 && starts == nullptr; }
};

// The view of a call without its masks; a caller whose host reads the masks sets `lengths` and
// `starts`.
[[nodiscard]] inline AttentionView attention_view(const AttentionSizes& sizes,
                                                  const AttentionOptions& options) {
  return {sizes.queries, sizes.keys, options.causal, options.window};
}

}  // namespace penstock
