// kernels/ops/pointwise.h -- element by element: sums, dropout, fills and casts.
// The tensors of a call have the same number of elements and are all fp32 or all bf16, unless said
// otherwise. Numbers are computed in fp32. y is overwritten unless its comment says +=.
#pragma once

#include "kernels/philox.h"
#include "kernels/tensor.h"

namespace penstock {

class PointwiseOps {
 public:
  virtual ~PointwiseOps() = default;

  virtual void add(Tensor& y, const Tensor& a, const Tensor& b) = 0;  // y = a + b; y may be a or b
  // y[i] = a[i] b[i]; y may be a or b.
  virtual void multiply(Tensor& y, const Tensor& a, const Tensor& b) = 0;
  virtual void accumulate(Tensor& y, const Tensor& a) = 0;           // y += a; dtypes may differ
  virtual void scale(Tensor& y, const Tensor& a, float factor) = 0;  // y = factor a; y may be a
  // y[.., c] = a[.., c] + b[c]: adds b, which has the innermost axes of a (one or several), to
  // every part of a of that size. So positions and biases are added. b is fp32; its number of
  // elements must divide that of a.
  virtual void add_broadcast(Tensor& y, const Tensor& a, const Tensor& b) = 0;
  // db[c] += the sum of g[.., c] over the leading axes, those that b does not have; db is fp32.
  virtual void add_broadcast_backward(Tensor& db, const Tensor& g) = 0;

  // Element i is kept when uniform(word i % 4 of philox(stream, i / 4)) >= rate, and scaled by
  // 1 / (1 - rate). Forward and backward are the same map. y may be x.
  virtual void dropout(Tensor& y, const Tensor& x, float rate, const RandomStream& stream) = 0;
  // Dropout of whole rows, a row being all that shares an index of axis 0 (a sample): row r is kept
  // when uniform(word (first + r) % 4 of philox(stream, (first + r) / 4)) >= rate. A dropped row is
  // zero whatever it held. Forward and backward are the same map. y may be x.
  virtual void dropout_rows(Tensor& y, const Tensor& x, float rate, const RandomStream& stream,
                            int64_t first) = 0;

  virtual void fill(Tensor& y, float value) = 0;      // any dtype but U8
  virtual void copy(Tensor& y, const Tensor& x) = 0;  // same shape; converts fp32 <-> bf16
  // Writes the sum of (2 i + 1) bits(x[i]) modulo 2^64 to `sum`, I32 [2], whose eight bytes are
  // that uint64 in the device's byte order. Any single changed bit of x changes this checksum, and
  // nearly every change of several bits does. Sums of integers are exact, so their order does not
  // matter. x may have any dtype.
  virtual void checksum(Tensor& sum, const Tensor& x) = 0;
};

}  // namespace penstock
