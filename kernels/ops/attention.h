// kernels/ops/attention.h -- softmax, and multi-head scaled dot-product attention (Vaswani et al.
// 2017) in blocks, so that no T x T matrix is ever held for more than a block of rows (Dao et al.
// 2022).
#pragma once

#include "kernels/ops/attention_path.h"
#include "kernels/philox.h"
#include "kernels/tensor.h"

namespace penstock {

struct AttentionOptions {
  int heads = 1;
  bool causal = false;    // row i sees columns 0 .. i (with Tq == Tk)
  float dropout = 0.0F;   // on the probabilities, element index ((b * heads + h) * Tq + i) * Tk + j
  RandomStream stream{};  // for dropout, as in PointwiseOps::dropout
};

class AttentionOps {
 public:
  virtual ~AttentionOps() = default;

  // Over the last axis.
  virtual void softmax_forward(Tensor& y, const Tensor& x) = 0;
  virtual void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) = 0;

  // out[b, Tq, heads * d] from q[b, Tq, heads * d], k and v[b, Tk, heads * d], scale 1 / sqrt(d).
  // key_lengths (I32 [b], may be null): columns >= the length are masked. A row that sees nothing
  // gives zeros. logsumexp[b, heads, Tq] (fp32) is written for the backward.
  virtual void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                                 const Tensor& v, const Tensor* key_lengths,
                                 const AttentionOptions& options) = 0;
  // dq, dk, dv are overwritten.
  virtual void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g,
                                  const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& out, const Tensor& logsumexp,
                                  const Tensor* key_lengths, const AttentionOptions& options) = 0;

  // How such calls, forward and backward alike, are computed here.
  [[nodiscard]] virtual AttentionPath path(const Tensor& /*q*/, const Tensor& /*k*/,
                                           const Tensor* /*key_lengths*/,
                                           const AttentionOptions& /*options*/) {
    return {};
  }
};

}  // namespace penstock
