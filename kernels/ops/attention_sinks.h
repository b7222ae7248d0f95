// kernels/ops/attention_sinks.h -- the sizes of attention sinks, from the tensors of an op, which
// are checked. Private to kernels.
#pragma once

#include "kernels/checks.h"

namespace penstock {

struct SinkSizes {
  int64_t rows, time, heads, depth;  // rows: of all heads, samples * heads * time
};
[[nodiscard]] inline SinkSizes sink_sizes(const char* op, const Tensor& out,
                                          const Tensor& logsumexp, const Tensor& sinks) {
  const int64_t heads = sinks.elements();
  const SinkSizes sizes{out.dim(0) * out.dim(1) * heads, out.dim(1), heads, out.dim(2) / heads};
  require_elements(op, logsumexp, sizes.rows);
  require_elements(op, out, sizes.rows * sizes.depth);
  return sizes;
}

}  // namespace penstock
