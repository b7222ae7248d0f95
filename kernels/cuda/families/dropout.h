// kernels/cuda/families/dropout.h -- the Bodies (elementwise.h) of PointwiseOps::dropout() and
// dropout_rows(). For .cu files.
#pragma once

#include "kernels/cuda/loops/elementwise.h"
#include "kernels/philox.h"

namespace penstock {

// The Body of dropout(): y[i] = x[i] scale where element i is kept, else 0. One call of philox()
// serves four elements. It takes about twenty integer instructions an element: half of what the
// arithmetic units can do while an element of bf16 is read and written.
template <class T>
struct DropElements : OneOperand<T> {
  RandomStream stream;
  float rate, scale;  // scale: 1 / (1 - rate)
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in) const {
    Floats<N> out;
    const auto first = static_cast<uint64_t>(i);
    if constexpr (N == 1) {
      out[0] = kept(in[0], philox(stream, first / 4)[first % 4]);
    } else {
      for (int k = 0; k < N; k += 4) {
        const auto words = philox(stream, first / 4 + static_cast<uint64_t>(k / 4));
        for (int w = 0; w < 4; ++w) out[k + w] = kept(in[k + w], words[w]);
      }
    }
    store<N>(this->y + i, out);
  }
  // A dropped element is 0, not 0 x, since x may be infinite.
  [[nodiscard]] __device__ float kept(float element, uint32_t word) const {
    return uniform_of(word) >= rate ? element * scale : 0.0F;
  }
};

// The Body of dropout_rows(). One Philox word decides for all elements of a row. A group of
// elements may lie in several rows.
template <class T>
struct DropRows : OneOperand<T> {
  RandomStream stream;
  int64_t first, width;  // the number of row 0; elements of a row
  float rate, scale;     // scale: 1 / (1 - rate)
  template <int N>
  __device__ void finish(int64_t i, const Floats<N>& in) const {
    int64_t row = i / width, left = width - i % width;
    bool keep = keeps(row);
    Floats<N> out;
    for (int k = 0; k < N; ++k, --left) {
      if (left == 0) {
        keep = keeps(++row);
        left = width;
      }
      out[k] = keep ? in[k] * scale : 0.0F;  // not 0 x: it may be infinite
    }
    store<N>(this->y + i, out);
  }
  [[nodiscard]] __device__ bool keeps(int64_t row) const {
    const auto number = static_cast<uint64_t>(first + row);
    return uniform_of(philox(stream, number / 4)[number % 4]) >= rate;
  }
};

}  // namespace penstock
