#include "kernels/cpu/bias_gradient.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/loops/loops.h"

namespace penstock {
namespace {

constexpr int64_t kRows = 512;    // rows of a partial sum: few, for many tasks and little rounding
constexpr int64_t kColumns = 64;  // columns of a tile: its sums stay in registers

// Sets partial[c] to the sum of g[r, c] over the tile's rows, added in ascending order of r.
template <class T>
void sum_tile(float* partial, const T* g, int64_t rows, int64_t columns, int64_t stride) {
  std::array<float, kColumns> sums{};
  if (columns == kColumns) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        sums[static_cast<size_t>(c)] += static_cast<float>(g[r * stride + c]);
      }
    }
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        sums[static_cast<size_t>(c)] += static_cast<float>(g[r * stride + c]);
      }
    }
  }
  std::copy_n(sums.begin(), columns, partial);
}

template <class T>
void sum_blocks(const CpuContext& context, float* partial, const T* g, int64_t rows,
                int64_t columns) {
  const int64_t blocks = (rows + kRows - 1) / kRows;
  const int64_t tiles = (columns + kColumns - 1) / kColumns;
  share_out(context.threads, blocks * tiles, [=](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t block = i / tiles;
      const int64_t r = block * kRows;
      const int64_t c = i % tiles * kColumns;
      sum_tile(partial + block * columns + c, g + r * columns + c, std::min(kRows, rows - r),
               std::min(kColumns, columns - c), columns);
    }
  });
}

}  // namespace

void add_column_sums(CpuContext& context, float* sums, const Tensor& g, int64_t rows,
                     int64_t columns) {
  const int64_t blocks = (rows + kRows - 1) / kRows;
  if (blocks * columns == 0) return;
  const Tensor sums_of_blocks = scratch(context, blocks * columns, DType::F32);
  float* partial = sums_of_blocks.data<float>();
  if (g.dtype() == DType::BF16) {
    sum_blocks(context, partial, g.data<bfloat16>(), rows, columns);
  } else {
    sum_blocks(context, partial, g.data<float>(), rows, columns);
  }
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t c = 0; c < columns; ++c) sums[c] += partial[block * columns + c];
  }
}

}  // namespace penstock
