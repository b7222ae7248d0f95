// kernels/ops/layout_plan.h -- breaks the layout ops down for every backend: concat and split into
// runs of memory at strides, transpose into a permutation with as few axes as possible.
#pragma once

#include <array>
#include <span>
#include <string>

#include "kernels/tensor.h"

namespace penstock {

// Calls f(part, rows, offset, run, stride) for each part along `axis`: the part consists of `rows`
// runs of `run` bytes each, which lie `stride` bytes apart in the whole, the first at byte
// `offset`. Throws Error(Internal) where the parts do not make the whole.
template <class Part, class F>
void for_each_part(const char* op, std::span<Part> parts, const Tensor& whole, int axis,
                   const F& f) {
  const Shape& shape = whole.shape();
  int64_t rows = 1;
  int64_t inner = 1;
  for (int a = 0; a < axis; ++a) rows *= shape[a];
  for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  const auto unit = inner * static_cast<int64_t>(size_of(whole.dtype()));
  int64_t offset = 0;
  for (Part& part : parts) {
    Shape expected = shape;
    expected[axis] = part.dim(axis);
    if (part.shape() != expected || part.dtype() != whole.dtype()) {
      fail_internal(std::string(op) + ": " + part.shape().text() + " is no part of " +
                    shape.text() + " along axis " + std::to_string(axis));
    }
    if (offset + part.dim(axis) <= shape[axis]) {
      f(part, rows, offset * unit, part.dim(axis) * unit, shape[axis] * unit);
    }
    offset += part.dim(axis);
  }
  if (offset != shape[axis]) {
    fail_internal(std::string(op) + ": the parts add up to " + std::to_string(offset) + " of " +
                  shape.text() + " along axis " + std::to_string(axis));
  }
}

// One axis of a permutation, strides in elements.
struct Axis {
  int64_t extent = 1;
  int64_t x_stride = 0;
  int64_t y_stride = 0;
};
// The axes of y, without those of extent 1; axes that are neighbours in both x and y are merged
// into one. The last axis is innermost in y. The one before it is innermost in x, unless the last
// axis is that, too. The order of the other axes does not matter, since each has both strides.
struct Permutation {
  std::array<Axis, Shape::kMaxRank> axes{};
  int count = 0;
  // Axis count - 1 - i: 0 is the last.
  [[nodiscard]] Axis& from_last(int i) { return axes[static_cast<size_t>(count - 1 - i)]; }
  [[nodiscard]] const Axis& from_last(int i) const {
    return axes[static_cast<size_t>(count - 1 - i)];
  }
};
// The permutation y = transpose(x, order); x is not empty.
[[nodiscard]] Permutation permutation_of(const Tensor& x, std::span<const int> order);

// Throws Error(Internal) where y has not the dtype of x and the axes of x in that order (axis a of
// y is axis order[a] of x), or where `order` is no permutation.
void check_order(const Tensor& y, const Tensor& x, std::span<const int> order);

// Throws Error(Internal) unless x has one row for each of `rows` (I32), of the length and the dtype
// of the rows of y. Does not look at the numbers in `rows`.
void check_put_rows(const Tensor& y, const Tensor& x, const Tensor& rows);

}  // namespace penstock
