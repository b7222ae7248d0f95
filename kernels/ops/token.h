// kernels/ops/token.h -- embedding tables and the cross-entropy loss. Ids and labels are I32. Where
// an op throws for a bad id or label, a GPU, which computes later, throws at the next synchronize()
// or copy to or from the host.
#pragma once

#include "kernels/tensor.h"

namespace penstock {

struct CrossEntropyOptions {
  float label_smoothing = 0.0F;  // the target is (1 - s) one-hot + s / classes
  float clip = 0.0F;  // > 0: logits are clipped to [-clip, clip]; no gradient where clipped
  // The gradient is that of the loss plus z logsumexp^2, which keeps logsumexp near 0 (the z-loss
  // of PaLM, Chowdhery et al. 2022, section 5). The loss itself has no such term.
  float z = 0.0F;
};

class TokenOps {
 public:
  virtual ~TokenOps() = default;

  // y[r, :] = table[ids[r], :]; y is fp32 or bf16, table fp32 or of y's dtype. An id outside the
  // table throws Error(Input) naming it.
  virtual void embedding_forward(Tensor& y, const Tensor& ids, const Tensor& table) = 0;
  // dtable[ids[r], :] += g[r, :], in ascending order of r; dtable is fp32, g fp32 or bf16.
  virtual void embedding_backward(Tensor& dtable, const Tensor& ids, const Tensor& g) = 0;

  // places[b, i] = i - starts[b, i], both I32 [b, t]: the place of position i within its own
  // sample, where a row packs several.
  virtual void packed_places(Tensor& places, const Tensor& starts) = 0;

  // labels is [rows]; logits is [r, classes], those of all rows or of a piece of them, the rows
  // from first_row on. Rows whose label is below 0 are left out; a label >= classes throws
  // Error(Input). Writes `result`, F64 [3], or adds to it where first_row is above 0: the sum of
  // the rows' losses (with smoothing), the number of rows whose largest logit (unclipped; the first
  // of equals) is that of the label, and the number of rows that were not left out. Writes
  // logsumexp[first_row + r] (fp32, [rows]) for the backward.
  virtual void cross_entropy_forward(Tensor& result, Tensor& logsumexp, const Tensor& logits,
                                     const Tensor& labels, const CrossEntropyOptions& options,
                                     int64_t first_row) = 0;
  // dlogits = scale * (softmax * (1 + 2 z logsumexp) - target), zero for the rows that are left
  // out; dlogits may be logits.
  virtual void cross_entropy_backward(Tensor& dlogits, const Tensor& logits, const Tensor& labels,
                                      const Tensor& logsumexp, float scale,
                                      const CrossEntropyOptions& options, int64_t first_row) = 0;
};

}  // namespace penstock
