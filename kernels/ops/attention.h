// kernels/ops/attention.h -- softmax, rotary positions, and multi-head scaled dot-product attention
// (Vaswani et al. 2017) in blocks, so that no T x T matrix is ever held for more than a block of
// rows (Dao et al. 2022).
#pragma once

#include "kernels/ops/attention_path.h"
#include "kernels/philox.h"
#include "kernels/tensor.h"

namespace penstock {

struct AttentionOptions {
  int heads = 1;         // of queries
  bool causal = false;   // row i sees columns 0 .. i (with Tq == Tk)
  float dropout = 0.0F;  // on the probabilities, element index ((b * heads + h) * Tq + i) * Tk + j
  // The random numbers of dropout: element i is kept when uniform(word i % 4 of philox(stream, i /
  // 4)) >= the rate. Where a library computes the call (AttentionPath), the numbers are the
  // library's, from a seed that is made of the stream.
  RandomStream stream{};
  // The heads of keys and values, a divisor of heads; 0: heads. Query head h reads head h / (heads
  // / kv_heads) (grouped queries, Ainslie et al. 2023).
  int kv_heads = 0;
  // > 0: with `causal` row i sees only the columns i - window + 1 .. i; without it every row sees
  // only the last `window` keys of its sample. 0: no window.
  int64_t window = 0;
  // > 0: a score s, which is a query times a key times the scale, becomes softcap tanh(s / softcap)
  // before the softmax (Gemma 2), so that none leaves [-softcap, softcap]. 0: scores stay.
  float softcap = 0.0F;
};

// The elements of a head that are turned together as pair c, counted from 0, by rotary positions.
// Halves: c and c + d / 2, where d elements are turned; Neighbours: 2 c and 2 c + 1.
enum class RotaryPairs : uint8_t { Halves, Neighbours };

// Limits the columns (keys) that a row (a query) of each sample sees, besides AttentionOptions.
// Null: nothing is masked.
struct AttentionMask {
  const Tensor* key_lengths = nullptr;  // I32 [b]: columns >= the length are masked
  // I32 [b, Tq], for causal rows only: row i sees the columns starts[b, i] .. i. Starts never
  // decrease from row to row of a sample.
  const Tensor* starts = nullptr;
};

class AttentionOps {
 public:
  virtual ~AttentionOps() = default;

  // y = softmax(x) over the last axis, and dx from the gradient g of y.
  virtual void softmax_forward(Tensor& y, const Tensor& x) = 0;
  virtual void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) = 0;

  // Rotary positions (Su et al. 2021) of heads side by side: x and y are [b, t, heads * d]; pair
  // c < d / 2 of a head is turned by the angle whose cosine and sine are table[place, c] and
  // table[place, c + d / 2]. table is fp32 [places, d], and has every place. `places` (I32 [b, t])
  // says where each position is; null: position i is at place i. `back` turns the other way, which
  // is the gradient. y may be x.
  virtual void rotary(Tensor& y, const Tensor& x, const Tensor& table, const Tensor* places,
                      RotaryPairs pairs, bool back) = 0;

  // out[b, Tq, heads * d] from q[b, Tq, heads * d], k and v[b, Tk, kv_heads * d], scale
  // 1 / sqrt(d). A row that sees nothing gives zeros. logsumexp[b, heads, Tq] (fp32) is written for
  // the backward.
  virtual void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                                 const Tensor& v, const AttentionMask& mask,
                                 const AttentionOptions& options) = 0;
  // Overwrites dq, dk and dv, given the gradient g of out and what the forward read and wrote.
  virtual void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g,
                                  const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& out, const Tensor& logsumexp,
                                  const AttentionMask& mask, const AttentionOptions& options) = 0;

  // Attention sinks (gpt-oss, 2025): a number for each head that takes part in the softmax of every
  // row, as the score of a key whose value is zero. Changes what attention_forward() wrote, out
  // [b, Tq, heads * d] and logsumexp, to what these are with the sinks, fp32 [heads]. The
  // attention_backward() of the changed ones then gives the right gradients.
  virtual void add_sinks(Tensor& out, Tensor& logsumexp, const Tensor& sinks) = 0;
  // Overwrites dsinks, fp32 [heads], given the gradient g of out and what add_sinks() read and
  // wrote.
  virtual void sinks_backward(Tensor& dsinks, const Tensor& g, const Tensor& out,
                              const Tensor& logsumexp, const Tensor& sinks) = 0;

  // How calls with such arguments, forward and backward alike, are computed here.
  [[nodiscard]] virtual AttentionPath path(const Tensor& /*q*/, const Tensor& /*k*/,
                                           const AttentionMask& /*mask*/,
                                           const AttentionOptions& /*options*/) {
    return {};
  }
};

}  // namespace penstock
