// kernels/ops/layout.h -- LayoutOps: concat, split, transpose and put_rows, which move elements
// without changing them. All tensors of a call (but for `rows`) are fp32 or all are bf16. Results
// are overwritten.
#pragma once

#include <span>

#include "kernels/tensor.h"

namespace penstock {

class LayoutOps {
 public:
  virtual ~LayoutOps() = default;

  // y = parts side by side along `axis`; all other extents agree.
  virtual void concat(Tensor& y, std::span<const Tensor> parts, int axis) = 0;
  // The reverse: parts are overwritten with their slices of x along `axis`.
  virtual void split(std::span<Tensor> parts, const Tensor& x, int axis) = 0;
  // Axis a of y is axis order[a] of x, as in numpy.transpose.
  virtual void transpose(Tensor& y, const Tensor& x, std::span<const int> order) = 0;
  // y[rows[r], :] = x[r, :], a row being the last axis. `rows`, I32, are rows of y and all
  // different; the other rows of y stay as they are.
  virtual void put_rows(Tensor& y, const Tensor& x, const Tensor& rows) = 0;
};

}  // namespace penstock
