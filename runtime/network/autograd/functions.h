// runtime/network/autograd/functions.h -- the ops of kernels/, as functions that record themselves
// on a tape.
//
// Each function computes its result at once. Shapes and meanings are those of kernels/ops; results
// are new tensors (Purpose::Activations), except that reshape is a view. Parameters receive their
// gradients by addition into Parameter::gradient.
#pragma once

#include <array>
#include <span>

#include "kernels/ops.h"
#include "runtime/network/autograd/parameter.h"
#include "runtime/network/autograd/replicas.h"
#include "runtime/network/autograd/tape.h"

namespace penstock {

// ---- matrix products
[[nodiscard]] Variable linear(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              Fused f = Fused::None);
// f(x in_weight^T + in_bias) out_weight^T + out_bias; where the device has it, f and its gradient
// are computed in the same pass as the products beside them.
[[nodiscard]] Variable feed_forward(Tape& tape, const Variable& x, Parameter& in_weight,
                                    Parameter* in_bias, Parameter& out_weight, Parameter* out_bias,
                                    Activation f);
[[nodiscard]] Variable matmul(Tape& tape, const Variable& a, const Variable& b);  // [batch, ., .]

// ---- images, channels-last
[[nodiscard]] Variable conv2d(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                              const Window& window, int groups, Fused f = Fused::None);
[[nodiscard]] Variable pool2d(Tape& tape, const Variable& x, const Window& window, Pool kind);
[[nodiscard]] Variable global_average(Tape& tape, const Variable& x);

// ---- norms
[[nodiscard]] Variable layer_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon);
[[nodiscard]] Variable rms_norm(Tape& tape, const Variable& x, Parameter& gamma, float epsilon);
// `sums` [kNormSums, c] receives the micro-batch's sums of x and x^2 (overwritten).
[[nodiscard]] Variable batch_norm(Tape& tape, const Variable& x, Parameter& gamma, Parameter& beta,
                                  float epsilon, Tensor& sums);
// The same with the statistics of all replicas' micro-batches, which must be of one size, as if
// they were one. `found` receives the statistics, unless it has them already: then nothing is
// exchanged, and sums are left alone.
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
// x + table, the table repeated over x's leading axes: a trained one, or a constant one.
[[nodiscard]] Variable add_table(Tape& tape, const Variable& x, Parameter& table, int64_t rows);
[[nodiscard]] Variable add_constant(Tape& tape, const Variable& x, const Tensor& table);
[[nodiscard]] Variable dropout(Tape& tape, const Variable& x, float rate,
                               const RandomStream& stream);
// Drops whole rows (axis 0); row r has the random number first + r.
[[nodiscard]] Variable dropout_rows(Tape& tape, const Variable& x, float rate,
                                    const RandomStream& stream, int64_t first);

// x twice, for two users: dx = the first's gradient + the second's, added in that order wherever
// the two are and whichever comes first.
[[nodiscard]] std::array<Variable, 2> duplicate(Tape& tape, const Variable& x);

// ---- layout
[[nodiscard]] Variable reshape(Tape& tape, const Variable& x, const Shape& shape);
[[nodiscard]] Variable transpose(Tape& tape, const Variable& x, std::span<const int> order);
[[nodiscard]] Variable concat(Tape& tape, const Variables& parts, int axis);
[[nodiscard]] Variables split(Tape& tape, const Variable& x, std::span<const int64_t> extents,
                              int axis);

// ---- attention and tokens
[[nodiscard]] Variable softmax(Tape& tape, const Variable& x);
[[nodiscard]] Variable attention(Tape& tape, const Variable& q, const Variable& k,
                                 const Variable& v, const AttentionMask& mask,
                                 const AttentionOptions& options);
// table and places as in AttentionOps::rotary; both must stay as they are until the backward.
[[nodiscard]] Variable rotary(Tape& tape, const Variable& x, const Tensor& table,
                              const Tensor* places);
[[nodiscard]] Variable embedding(Tape& tape, const Tensor& ids, Parameter& table, DType dtype);

// A loss ends a tape: it needs no incoming gradient. `scale` multiplies the gradient that it starts
// (1 / targets of the whole mini-batch). Returns the F64 [3] of TokenOps::cross_entropy_forward.
[[nodiscard]] Tensor cross_entropy(Tape& tape, const Variable& logits, const Tensor& labels,
                                   float scale, const CrossEntropyOptions& options);

}  // namespace penstock
