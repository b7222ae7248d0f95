// runtime/network/autograd/functions.h -- the ops of kernels/, as functions that record themselves
// on a tape.
//
// Each function computes its result at once, as the op of that name in kernels/ops does on the same
// shapes. Results are new tensors (Purpose::Activations), except that reshape is a view. A backward
// adds a parameter's gradient to Parameter::gradient.
#pragma once

#include <array>
#include <span>

#include "kernels/ops.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/autograd/replicas.h"
#include "runtime/network/autograd/tape.h"

namespace penstock {

// ---- matrix products
// f(x weight^T + bias); null: no bias.
[[nodiscard]] Variable linear(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              Fused f = Fused::None);
// f(x in_weight^T + in_bias) out_weight^T + out_bias; null: no bias. Where the device can, f and
// its gradient are computed within the products beside them.
[[nodiscard]] Variable feed_forward(Tape& tape, const Variable& x, Parameter& in_weight,
                                    Parameter* in_bias, Parameter& out_weight, Parameter* out_bias,
                                    Activation f);
[[nodiscard]] Variable matmul(Tape& tape, const Variable& a, const Variable& b);  // [batch, ., .]

// ---- images, channels-last
[[nodiscard]] Variable conv2d(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              const Window& window, int groups, Fused f = Fused::None);
[[nodiscard]] Variable pool2d(Tape& tape, const Variable& x, const Window& window, Pool kind);
// [n, h, w, c] -> [n, c]: the mean over h and w.
[[nodiscard]] Variable global_average(Tape& tape, const Variable& x);

// ---- norms
[[nodiscard]] Variable layer_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon);
[[nodiscard]] Variable rms_norm(Tape& tape, const Variable& x, Parameter& gamma, float epsilon);
// `sums` [kNormSums, c] receives the micro-batch's sums of x and x^2 (overwritten).
[[nodiscard]] Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon, Tensor& sums);
// Batch norm with the statistics of all replicas' micro-batches, which must be of one size, as if
// they were one. `sums` [kNormSums, c] receives this replica's sums of x and x^2, and `found` the
// statistics. Where `found` has statistics already, they are used: nothing is exchanged, and `sums`
// stays as it is.
struct BatchStatistics {
  Tensor mean, rstd;  // F32 [c]
};
[[nodiscard]] Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon, Tensor& sums, Replicas& replicas,
                                  BatchStatistics& found);
// Batch norm with given statistics: an affine map of each channel, whose gamma and beta get no
// gradient. mean and variance must stay as they are until the backward.
[[nodiscard]] Variable fixed_batch_norm(Tape& tape, const Variable& x, const Tensor& mean,
                                        const Tensor& variance, const Parameter& gamma,
                                        const Parameter& beta, float epsilon);

// ---- element by element
[[nodiscard]] Variable activation(Tape& tape, const Variable& x, Activation f);
// f(gate) x
[[nodiscard]] Variable gated(Tape& tape, const Variable& gate, const Variable& x, Activation f);
[[nodiscard]] Variable add(Tape& tape, const Variable& a, const Variable& b);
[[nodiscard]] Variable multiply(Tape& tape, const Variable& a, const Variable& b);
[[nodiscard]] Variable scale(Tape& tape, const Variable& x, float factor);
// x + table, the table repeated over x's leading axes: the first `rows` rows of a trained table, or
// a constant.
[[nodiscard]] Variable add_table(Tape& tape, const Variable& x, Parameter& table, int64_t rows);
[[nodiscard]] Variable add_constant(Tape& tape, const Variable& x, const Tensor& table);
[[nodiscard]] Variable dropout(Tape& tape, const Variable& x, float rate,
                               const RandomStream& stream);
// Drops whole rows (axis 0); row r has the random number first + r.
[[nodiscard]] Variable dropout_rows(Tape& tape, const Variable& x, float rate,
                                    const RandomStream& stream, int64_t first);

// x twice, for two users. dx = the gradient of [0] + that of [1], added in this order whichever
// comes first.
[[nodiscard]] std::array<Variable, 2> duplicate(Tape& tape, const Variable& x);

// ---- layout
[[nodiscard]] Variable reshape(Tape& tape, const Variable& x, const Shape& shape);
// Axis a of the result is axis order[a] of x.
[[nodiscard]] Variable transpose(Tape& tape, const Variable& x, std::span<const int> order);
// The parts side by side along `axis`, and x cut along `axis` into parts of these extents.
[[nodiscard]] Variable concat(Tape& tape, const Variables& parts, int axis);
[[nodiscard]] Variables split(Tape& tape, const Variable& x, std::span<const int64_t> extents,
                              int axis);

// ---- attention and tokens
// Softmax over the last axis.
[[nodiscard]] Variable softmax(Tape& tape, const Variable& x);
[[nodiscard]] Variable attention(Tape& tape, const Variable& q, const Variable& k,
                                 const Variable& v, const AttentionMask& mask,
                                 const AttentionOptions& options);
// Rotary positions. `table` [places, head width] holds cosines and sines, `places` I32 [b, t] where
// each position is (null: 0, 1, 2 ...); both must stay as they are until the backward.
[[nodiscard]] Variable rotary(Tape& tape, const Variable& x, const Tensor& table,
                              const Tensor* places);
// The rows of the table that I32 ids name, in type `dtype`.
[[nodiscard]] Variable embedding(Tape& tape, const Tensor& ids, Parameter& table, DType dtype);

// The loss, which ends a tape: a backward starts here, with a gradient of `scale` (1 / targets of
// the whole mini-batch). Returns F64 [3]: the sum of losses, the number of targets guessed right,
// the number of targets.
[[nodiscard]] Tensor cross_entropy(Tape& tape, const Variable& logits, const Tensor& labels,
                                   float scale, const CrossEntropyOptions& options);

}  // namespace penstock
