// runtime/network/autograd/functions.h -- the ops of kernels/ (products, norms, attention, loss),
// as functions that layers call in their forward and that record themselves on a tape.
//
// Each function computes its result at once, as the op of that name in kernels/ops does on the same
// shapes. If the tape records and a gradient is wanted, it also leaves a Node on the tape (tape.h),
// so that Tape::backward() can compute that function's gradients later; layers write no backward.
// Results are new tensors (Purpose::Activations), except that reshape() returns a view. A backward
// adds a parameter's gradient to Parameter::gradient. Activations are fp32 or bf16, the type of
// `x`; b is the samples of a micro-batch, t the positions of a row, c channels.
#pragma once

#include <array>
#include <span>

#include "kernels/ops.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/autograd/replicas.h"
#include "runtime/network/autograd/tape.h"

namespace penstock {

// ---- matrix products
// f(x weight^T + bias), over x's last axis; weight is [out, in]. Null: no bias. Fused::None: no f.
[[nodiscard]] Variable linear(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              Fused f = Fused::None);
// f(x in_weight^T + in_bias) out_weight^T + out_bias; null: no bias. On a device that has such
// kernels, f is computed within the first product, and its gradient within the second one's.
[[nodiscard]] Variable feed_forward(Tape& tape, const Variable& x, Parameter& in_weight,
                                    Parameter* in_bias, Parameter& out_weight, Parameter* out_bias,
                                    Activation f);
// The product of each pair of matrices: a [batch, m, k] times b [batch, k, n] is [batch, m, n].
[[nodiscard]] Variable matmul(Tape& tape, const Variable& a, const Variable& b);

// ---- images, channels-last: [n, height, width, channels]
// f(x * weight + bias), where * is the convolution of x [n, h, w, in] with the filter weight [out,
// in / groups, kernel height, kernel width]: [n, oh, ow, out]. Null: no bias. Fused::None: no f.
[[nodiscard]] Variable conv2d(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              const Window& window, int groups, Fused f = Fused::None);
// The transposed convolution, which undoes a convolution's striding: the pixels of x, [n, h, w,
// in], are spread over those of the result, [n, oh, ow, out], by the window that would bring the
// result back to h x w. weight is [in, out / groups, kernel height, kernel width], as torch has it.
// Null: no bias.
[[nodiscard]] Variable conv2d_transpose(Tape& tape, const Variable& x, Parameter& weight,
                                        Parameter* bias, const Window& window, int groups,
                                        const Shape& result);
// Enlarges the images of x, [n, h, w, c] -> [n, oh, ow, c] (kernels/ops/upsample.h).
[[nodiscard]] Variable upsample2d(Tape& tape, const Variable& x, const Enlarging& enlarging);
// [n, h, w, c] -> [n, oh, ow, c]: the largest number of each window, or their mean.
[[nodiscard]] Variable pool2d(Tape& tape, const Variable& x, const Window& window, Pool kind);
// [n, h, w, c] -> [n, c]: the mean over h and w.
[[nodiscard]] Variable global_average(Tape& tape, const Variable& x);

// ---- norms: gamma is the trained scale, beta the trained shift, each [last axis of x]
// `beta` null: nothing is added.
[[nodiscard]] Variable layer_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter* beta,
                                  float epsilon);
// `offset` is added to gamma (kernels/ops/row_norm.h).
[[nodiscard]] Variable rms_norm(Tape& tape, const Variable& x, Parameter& gamma, float offset,
                                float epsilon);
// Batch norm with the statistics of this micro-batch, over all axes of x but the last. Overwrites
// `sums`, F32 [kNormSums, c] (kernels/ops/norm_sums.h), with the sums of x and x^2 of each channel.
[[nodiscard]] Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon, Tensor& sums);
// Batch norm with the statistics of one micro-batch of every replica (data parallelism), which must
// be of one size, as if they were one larger micro-batch. In a first forward `found` is empty: this
// exchanges the statistics, which waits for all replicas, writes them to `found`, and overwrites
// `sums` with this replica's own sums. In a recompute `found` has the statistics of the first
// forward: these are used, nothing is exchanged, and `sums` stays as it is.
struct BatchStatistics {
  Tensor mean, rstd;  // F32 [c]; rstd = 1 / sqrt(variance + epsilon)
};
[[nodiscard]] Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon, Tensor& sums, Replicas& replicas,
                                  BatchStatistics& found);
// Batch norm with given statistics, F32 [c], as in evaluation: an affine map of each channel. Only
// x gets a gradient, gamma and beta get none. mean and variance must stay as they are until the
// backward.
[[nodiscard]] Variable fixed_batch_norm(Tape& tape, const Variable& x, const Tensor& mean,
                                        const Tensor& variance, const Parameter& gamma,
                                        const Parameter& beta, float epsilon);

// ---- element by element
[[nodiscard]] Variable activation(Tape& tape, const Variable& x, Activation f);
// f(gate) * x, element by element.
[[nodiscard]] Variable gated(Tape& tape, const Variable& gate, const Variable& x, Activation f);
// ActivationOps::clamped_gate_forward().
[[nodiscard]] Variable clamped_gate(Tape& tape, const Variable& gate, const Variable& x,
                                    float limit);
[[nodiscard]] Variable add(Tape& tape, const Variable& a, const Variable& b);
[[nodiscard]] Variable multiply(Tape& tape, const Variable& a, const Variable& b);
[[nodiscard]] Variable scale(Tape& tape, const Variable& x, float factor);
// x in that type, fp32 or bf16.
[[nodiscard]] Variable cast(Tape& tape, const Variable& x, DType dtype);
// x + table, the table repeated over x's leading axes. add_table() adds the first `rows` rows of a
// trained table, add_constant() a table that gets no gradient.
[[nodiscard]] Variable add_table(Tape& tape, const Variable& x, Parameter& table, int64_t rows);
[[nodiscard]] Variable add_constant(Tape& tape, const Variable& x, const Tensor& table);
// Sets elements to zero with probability `rate` and scales the others by 1 / (1 - rate). The same
// `stream` gives the same elements, so that a recompute drops what the first forward dropped.
[[nodiscard]] Variable dropout(Tape& tape, const Variable& x, float rate,
                               const RandomStream& stream);
// The same for whole rows (axis 0): number first + r of the stream decides about row r.
[[nodiscard]] Variable dropout_rows(Tape& tape, const Variable& x, float rate,
                                    const RandomStream& stream, int64_t first);

// x twice, for two readers. The gradient of x is that of [0] plus that of [1], added in this order
// whichever comes first.
[[nodiscard]] std::array<Variable, 2> duplicate(Tape& tape, const Variable& x);

// ---- layout
[[nodiscard]] Variable reshape(Tape& tape, const Variable& x, const Shape& shape);
// Axis a of the result is axis order[a] of x.
[[nodiscard]] Variable transpose(Tape& tape, const Variable& x, std::span<const int> order);
// concat() puts the parts side by side along `axis`; split() cuts x along `axis` into parts of
// these extents, which must add up to x's.
[[nodiscard]] Variable concat(Tape& tape, const Variables& parts, int axis);
[[nodiscard]] Variables split(Tape& tape, const Variable& x, std::span<const int64_t> extents,
                              int axis);

// ---- mixtures of experts (kernels/ops/experts.h): a row is all that shares the leading axes
// Where rows go, and the weight of each of their experts, fp32 [rows, chosen].
struct Routed {
  Routing routing;
  Variable weights;
};
// Sends each row of logits, fp32 [..., experts], to `chosen` experts. `correction`, fp32 [experts],
// takes part in the choice alone and has no gradient; empty: none. The backward adds the gradients
// of the auxiliary losses that the router has to that of the weights.
[[nodiscard]] Routed route(Tape& tape, const Variable& logits, int64_t chosen, const Router& router,
                           const Tensor& correction = {});
// The rows of x, [..., width], in the experts' order, each as often as it goes to one: [rows *
// chosen, width].
[[nodiscard]] Variable gather(Tape& tape, const Variable& x, const Routing& routing);
// Each expert's rows of x, [rows * chosen, in], times its own matrix of weight [experts, out, in],
// and its own row of the bias, [experts, out], added; null: there is none.
[[nodiscard]] Variable grouped_linear(Tape& tape, const Variable& x, Parameter& weight,
                                      const Routing& routing, Parameter* bias = nullptr);
// For each row the sum of its experts' rows of x, [rows * chosen, width], times their weights.
// `shape` is that of the result, [..., width].
[[nodiscard]] Variable combine(Tape& tape, const Variable& x, const Routed& routed,
                               const Shape& shape);
// sigmoid(gate) * x, where gate has one number for each row of x: [..., 1] and [..., width].
[[nodiscard]] Variable gate_rows(Tape& tape, const Variable& x, const Variable& gate);

// ---- attention and tokens
// Softmax over the last axis.
[[nodiscard]] Variable softmax(Tape& tape, const Variable& x);
// softmax(q k^T / sqrt(head width)) v for each head. q is [b, tq, heads * head width], k and v are
// [b, tk, kv_heads * head width]; the result has q's shape. `sinks`, [heads], take part in each
// softmax (AttentionOps::add_sinks()); null: none.
[[nodiscard]] Variable attention(Tape& tape, const Variable& q, const Variable& k,
                                 const Variable& v, const AttentionMask& mask,
                                 const AttentionOptions& options, Parameter* sinks = nullptr);
// Rotary positions (Su et al. 2021): turns pairs of elements of each head of x, [b, t, heads * head
// width], by angles that grow with the position. `table`, F32 [places, head width], holds the
// cosines and sines of each place, and `places`, I32 [b, t], the place of each position (null: 0,
// 1, 2 ...). Both must stay as they are until the backward. `pairs` says which elements are turned
// together (kernels/ops/attention.h).
[[nodiscard]] Variable rotary(Tape& tape, const Variable& x, const Tensor& table,
                              const Tensor* places, RotaryPairs pairs);
// The rows of the table, [vocabulary, width], that the I32 ids [b, t] name, in the type `dtype`:
// [b, t, width].
[[nodiscard]] Variable embedding(Tape& tape, const Tensor& ids, Parameter& table, DType dtype);

// The cross-entropy loss, where a backward starts: it gives the logits, [..., classes], the
// gradient of `scale` times the sum of losses. With `scale` = 1 / (targets of the whole mini-batch)
// that is the gradient of the mean. `labels`, I32, has a class for each row of logits; a negative
// label is no target and counts nowhere. Returns F64 [3]: the sum of losses, the number of targets
// whose largest logit is the right one, the number of targets.
[[nodiscard]] Tensor cross_entropy(Tape& tape, const Variable& logits, const Tensor& labels,
                                   float scale, const CrossEntropyOptions& options);
// What a classifier's loss is, and how it is computed.
struct ClassifierLossOptions {
  CrossEntropyOptions loss = {};
  float softcap = 0.0F;      // > 0: the logits are softcap * tanh() of the product
  int64_t rows_at_once = 1;  // how many rows of logits are in memory at a time
};
// cross_entropy() of the logits that linear(x, weight, bias) makes. Where x has no more rows than
// rows_at_once it is these functions. Else, if the tape records and a gradient is wanted, nothing
// is computed at once: the input half of the backward makes logits, loss and gradients piece by
// piece in one pass, and only then is the result written. A weight half that runs apart from the
// input half computes the logits once more.
[[nodiscard]] Tensor classifier_loss(Tape& tape, const Variable& x, Parameter& weight,
                                     Parameter* bias, const Tensor& labels, float scale,
                                     const ClassifierLossOptions& options);

}  // namespace penstock
