// kernels/cuda/attention/attention_call.h -- one call of attention as our blocked kernels take it.
// Private to the attention family.
//
// The kernels follow FlashAttention (Dao et al. 2022): scores live in tiles in shared memory and
// never reach the device's memory. The forward passes over the keys twice, first for the logsumexp
// of each row, then for the probabilities themselves, so that nothing is ever rescaled and the
// backward finds the very same probabilities. The backward sums dk and dv in one kernel over blocks
// of keys, dq in another over blocks of queries: every sum has one owner and one order.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// The sizes and options of a call; `depth` is the number of elements of a head. It is passed to
// kernels by value and compared as bytes, so it has no padding.
struct AttentionCall {
  // Samples; queries and keys of a sample; heads of queries, and those of keys and values.
  int32_t batch, queries, keys, heads, kv_heads, depth;
  int32_t causal;  // 0 or 1
  int32_t window;  // keys that a query sees; 0: all
  // 1: the kernels may read and write 16 bytes at a time. That needs the `depth` elements of a head
  // to take a multiple of 16 bytes, and every tensor of the call (forward: q, k, v, out; backward
  // also g, dq, dk, dv) to begin at an address that is a multiple of 16. 0: they may not.
  int32_t wide;
  float scale;                     // multiplies q k^T to give the scores
  float rate;                      // of the dropout; 0 for none
  float keep;                      // 1 / (1 - rate): what is kept is multiplied with this
  float softcap, softcap_inverse;  // AttentionOptions::softcap and 1 / softcap; 0 for none
  RandomStream stream;
  // Device addresses; null: the call has none (AttentionMask, kernels/ops/attention.h).
  const int32_t* lengths;  // [batch]: how many keys of each sample count
  const int32_t* starts;   // [batch, queries]: the first key that each query sees
};

// The widest head that the kernels take.
inline constexpr int kDeepest = 128;

// What forward and backward read: q [batch, queries, heads * depth], k and v [batch, keys, kv_heads
// * depth].
struct AttentionInputs {
  const void *q, *k, *v;
};
// The two functions below compute AttentionOps::attention_forward() and attention_backward(), with
// all addresses on the device. Elements are fp32 or bf16, as `type` says. out has the shape of q;
// logsumexp is fp32, [batch, heads, queries]. call.depth must be at most kDeepest. The forward
// overwrites out and logsumexp.
void blocked_attention_forward(CudaContext& context, const AttentionCall& call, DType type,
                               const AttentionInputs& in, void* out, float* logsumexp);

// What a backward reads of its forward's results (out and logsumexp), and g, the gradient of out,
// in the shape of out.
struct AttentionResults {
  const void *g, *out;
  const float* logsumexp;
};
// What a backward writes: the gradients of q, k and v, in their shapes.
struct AttentionGradients {
  void *dq, *dk, *dv;
};
// The backward overwrites the gradients, which have the shapes of q, k and v.
void blocked_attention_backward(CudaContext& context, const AttentionCall& call, DType type,
                                const AttentionInputs& in, const AttentionResults& results,
                                const AttentionGradients& gradients);

}  // namespace penstock
