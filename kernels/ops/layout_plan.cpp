#include "kernels/ops/layout_plan.h"

#include <utility>

#include "kernels/error.h"

namespace penstock {

Permutation permutation_of(const Tensor& x, std::span<const int> order) {
  const Shape& shape = x.shape();
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    strides[static_cast<size_t>(a)] = stride;
    stride *= shape[a];
  }
  Permutation p;
  for (const int a : order) {
    const Axis axis{shape[a], strides[static_cast<size_t>(a)], 0};
    if (axis.extent == 1) continue;
    if (p.count > 0 && p.from_last(0).x_stride == axis.extent * axis.x_stride) {
      p.from_last(0) = {p.from_last(0).extent * axis.extent, axis.x_stride, 0};
    } else {
      ++p.count;
      p.from_last(0) = axis;
    }
  }
  if (p.count == 0) {
    p.count = 1;
    p.from_last(0) = {1, 1, 1};
  }
  stride = 1;
  for (int i = 0; i < p.count; ++i) {
    p.from_last(i).y_stride = stride;
    stride *= p.from_last(i).extent;
  }
  for (int i = 2; i < p.count; ++i) {
    if (p.from_last(i).x_stride == 1) std::swap(p.from_last(i), p.from_last(1));
  }
  return p;
}

void check_order(const Tensor& y, const Tensor& x, std::span<const int> order) {
  bool fits = y.dtype() == x.dtype() && y.shape().rank() == x.shape().rank() &&
              static_cast<int>(order.size()) == x.shape().rank();
  std::array<bool, Shape::kMaxRank> seen{};
  for (size_t a = 0; fits && a < order.size(); ++a) {
    const int from = order[a];
    fits = from >= 0 && from < x.shape().rank() && !seen[static_cast<size_t>(from)] &&
           y.dim(static_cast<int>(a)) == x.dim(from);
    if (fits) seen[static_cast<size_t>(from)] = true;
  }
  if (!fits) {
    fail_internal("transpose: " + y.shape().text() + " is no permutation of " + x.shape().text());
  }
}

void check_put_rows(const Tensor& y, const Tensor& x, const Tensor& rows) {
  if (y.dtype() != x.dtype() || y.shape().back() != x.shape().back() ||
      x.shape().rows() != rows.elements() || rows.dtype() != DType::I32) {
    fail_internal("put_rows: " + x.shape().text() + " and its " + rows.shape().text() +
                  " places do not fit " + y.shape().text());
  }
}

}  // namespace penstock
