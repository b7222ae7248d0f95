// kernels/ops/token.h -- embedding tables and the cross-entropy loss. Ids and labels are I32.
#pragma once

#include "kernels/tensor.h"

namespace penstock {

struct CrossEntropyOptions {
  float label_smoothing = 0.0F;  // the target is (1 - s) one-hot + s / classes
  float clip = 0.0F;  // > 0: logits are clipped to [-clip, clip]; no gradient where clipped
};

class TokenOps {
 public:
  virtual ~TokenOps() = default;

  // y[r, width] = table[ids[r], :]; y is fp32 or bf16, table fp32 or as y. An id outside the table
  // throws Error(Input) naming it.
  virtual void embedding_forward(Tensor& y, const Tensor& ids, const Tensor& table) = 0;
  // dtable[ids[r], :] += g[r, :], in ascending order of r.
  virtual void embedding_backward(Tensor& dtable, const Tensor& ids, const Tensor& g) = 0;

  // places[b, i] = i - starts[b, i], both I32 [b, t]: the place of position i within its own
  // sample, where a row packs several.
  virtual void packed_places(Tensor& places, const Tensor& starts) = 0;

  // logits[r, classes], labels[r]; labels < 0 are ignored; a label >= classes throws Error(Input).
  // result (F64 [3]) = sum of losses (smoothed), number of rows whose largest logit (unclipped, the
  // first of equals) is the label, number of rows counted. logsumexp[r] (fp32) is written for the
  // backward.
  virtual void cross_entropy_forward(Tensor& result, Tensor& logsumexp, const Tensor& logits,
                                     const Tensor& labels, const CrossEntropyOptions& options) = 0;
  // dlogits = scale * (softmax - target), zero for ignored rows; dlogits may be logits.
  virtual void cross_entropy_backward(Tensor& dlogits, const Tensor& logits, const Tensor& labels,
                                      const Tensor& logsumexp, float scale,
                                      const CrossEntropyOptions& options) = 0;
};

}  // namespace penstock
