// runtime/network/optimizer/matrices/matrix_size.h -- MatrixSize: a weight as a matrix, for rules
// that treat matrices as such.
#pragma once

#include <cstdint>

#include "kernels/tensor.h"

namespace penstock {

struct MatrixSize {
  int64_t rows = 0, columns = 0;
  [[nodiscard]] int64_t elements() const { return rows * columns; }
  [[nodiscard]] int64_t shorter() const { return rows < columns ? rows : columns; }
};
// Returns the sizes of a weight with two or more axes taken as a matrix [first axis, all the
// others], so that a filter of a convolution is a matrix [out, in / groups * height * width].
[[nodiscard]] inline MatrixSize matrix_size(const Shape& weight) {
  return {weight[0], weight[0] == 0 ? 0 : weight.elements() / weight[0]};
}

// A view of all the elements, 1-d.
[[nodiscard]] inline Tensor flat(const Tensor& t) {
  return t.view(0, {t.elements()});
}

}  // namespace penstock
