// kernels/checks.h -- what ops of every backend require of their tensors before they touch them. A
// tensor that does not fit is a bug of ours: all functions throw Error(Internal), whose text names
// the op `op`.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/bfloat16.h"
#include "kernels/error.h"
#include "kernels/tensor.h"

namespace penstock {

// Calls f(T{}) with the element type T, float or bfloat16.
template <class F>
void with_element_type(DType type, const char* op, const F& f) {
  switch (type) {
    case DType::F32:
      return f(float{});
    case DType::BF16:
      return f(bfloat16{});
    default:
      fail_internal(std::string(op) + " takes fp32 or bf16, not " + name_of(type));
  }
}

// Calls f(Word{}) with the unsigned integer type that is as wide as an element.
template <class F>
void with_word(DType type, const F& f) {
  switch (size_of(type)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

// The tensor must have that many elements.
inline void require_elements(const char* op, const Tensor& t, int64_t elements) {
  if (t.elements() != elements) {
    fail_internal(std::string(op) + ": a tensor is " + t.shape().text() + " where " +
                  std::to_string(elements) + " elements belong");
  }
}
// `part` is a matrix whose rows are some of those of a larger one, from first_row on. Of each of
// its rows `whole` must have an element.
inline void require_piece(const char* op, const Tensor& part, const Tensor& whole,
                          int64_t first_row) {
  const int64_t rows = part.shape().rows();
  if (first_row >= 0 && first_row + rows <= whole.elements()) return;
  fail_internal(std::string(op) + ": " + part.shape().text() + " from row " +
                std::to_string(first_row) + " on is no part of " +
                std::to_string(whole.elements()) + " rows");
}
// A bias is added to every row of a result. It, or the sum of its gradients, must be fp32
// [columns]. Null: there is none.
inline void require_bias(const char* op, const Tensor* bias, int64_t columns) {
  if (bias == nullptr) return;
  require_elements(op, *bias, columns);
  if (bias->dtype() == DType::F32) return;
  fail_internal(std::string(op) + ": a bias is " + name_of(bias->dtype()) + ", not fp32");
}
// A tensor that gradients are added to must be fp32.
inline void require_sum(const char* op, const Tensor& t) {
  if (t.dtype() == DType::F32) return;
  fail_internal(std::string(op) + ": a sum is " + name_of(t.dtype()) + ", not fp32");
}
// The result of a checksum must be two int32.
inline void require_checksum(const Tensor& sum) {
  require_elements("checksum", sum, 2);
  if (sum.dtype() == DType::I32) return;
  fail_internal(std::string("a checksum is ") + name_of(sum.dtype()) + ", not int32");
}
// The tensors must have the same type and number of elements.
inline void require_alike(const char* op, const Tensor& a, const Tensor& b) {
  if (a.elements() != b.elements() || a.dtype() != b.dtype()) {
    fail_internal(std::string(op) + ": " + name_of(a.dtype()) + " " + a.shape().text() + " and " +
                  name_of(b.dtype()) + " " + b.shape().text() + " do not fit each other");
  }
}
// For a norm over all axes but the last, the channels, y and x must be alike; mean, spread (its
// variance or 1 / deviation) and gamma must each have an element for each channel.
inline void require_channels(const char* op, const Tensor& y, const Tensor& x, const Tensor& mean,
                             const Tensor& spread, const Tensor& gamma) {
  require_alike(op, y, x);
  for (const Tensor* t : {&mean, &spread, &gamma}) require_elements(op, *t, x.shape().back());
}
// For a norm over the last axis, y and x must be alike; mean and rstd must have an element for each
// row, gamma one for each column.
inline void require_rows(const char* op, const Tensor& y, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd, const Tensor& gamma) {
  require_alike(op, y, x);
  for (const Tensor* t : {&mean, &rstd}) require_elements(op, *t, x.shape().rows());
  require_elements(op, gamma, x.shape().back());
}
// The number of elements of `part` must divide that of `whole`: the op adds the part to each
// stretch of so many elements of the whole.
inline void require_fraction(const char* op, const Tensor& part, const Tensor& whole) {
  if (part.elements() == 0 || whole.elements() % part.elements() != 0) {
    fail_internal(std::string(op) + ": " + part.shape().text() + " does not repeat to " +
                  whole.shape().text());
  }
}

}  // namespace penstock
