#include "kernels/cpu/bias_gradient.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/loops/loops.h"

namespace penstock {
namespace {

constexpr int64_t kColumns = 64;  // columns of a tile: its sums stay in registers

// Sets partial[c] to the sum of g[r, c] over the tile's rows, added in ascending order of r.
template <class T>
void sum_tile(float* partial, const T* g, int64_t rows, int64_t columns, int64_t stride) {
  float sums[kColumns] = {};
  const auto add_rows = [&](auto width) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) sums[c] += static_cast<float>(g[r * stride + c]);
    }
  };
  if (columns == kColumns) {
    add_rows(std::integral_constant<int64_t, kColumns>());  // a compiler keeps these in registers
  } else {
    add_rows(columns);
  }
  std::copy_n(sums, columns, partial);
}

}  // namespace

void add_column_sums(const CpuContext& context, float* sums, const Tensor& g) {
  const int64_t rows = g.shape().rows();
  const int64_t columns = g.shape().back();
  if (rows == 0) return;
  const Tensor sums_of_blocks = scratch(context, partial_sums(g.shape()), DType::F32);
  const int64_t blocks = sums_of_blocks.elements() / columns;
  float* partial = sums_of_blocks.data<float>();
  const int64_t tiles = (columns + kColumns - 1) / kColumns;
  with_element_type(g.dtype(), "a bias gradient", [&]<class T>(T) {
    const T* from = g.data<T>();
    for_rows(context, blocks * tiles, kRowsOfASum * kColumns, [=](int64_t i) {
      const int64_t block = i / tiles;
      const int64_t r = block * kRowsOfASum;
      const int64_t c = i % tiles * kColumns;
      sum_tile(partial + block * columns + c, from + r * columns + c,
               std::min(kRowsOfASum, rows - r), std::min(kColumns, columns - c), columns);
    });
  });
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t c = 0; c < columns; ++c) sums[c] += partial[block * columns + c];
  }
}

}  // namespace penstock
