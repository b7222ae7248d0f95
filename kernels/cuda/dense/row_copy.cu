// kernels/cuda/dense/row_copy.cu -- a thread writes one pack of 16 bytes of the result, wherever in
// a row that begins; what it reads by single elements is in the first cache for its neighbours.
#include "kernels/cuda/dense/row_copy.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kRowCopyThreads = 256;
constexpr int kRowCopyPack = 8;

// Passed to the kernel by value; no padding.
struct RowCopy {
  bfloat16* to;
  const bfloat16* from;
  int64_t to_columns, from_columns, elements;  // elements of `to`
  [[nodiscard]] __device__ float at(int64_t row, int64_t column) const {
    return column < from_columns ? widened(from[row * from_columns + column]) : 0.0F;
  }
};

__global__ void __launch_bounds__(kRowCopyThreads) row_copy_kernel(RowCopy copy) {
  const int64_t first =
      (int64_t{blockIdx.x} * kRowCopyThreads + static_cast<int64_t>(threadIdx.x)) * kRowCopyPack;
  if (first >= copy.elements) return;
  int64_t row = first / copy.to_columns;
  int64_t column = first - row * copy.to_columns;
  Floats<kRowCopyPack> pack;
  const auto count = static_cast<int>(min(int64_t{kRowCopyPack}, copy.elements - first));
#pragma unroll
  for (int i = 0; i < kRowCopyPack; ++i) {
    pack[i] = i < count ? copy.at(row, column) : 0.0F;
    if (++column == copy.to_columns) {
      column = 0;
      ++row;
    }
  }
  if (count == kRowCopyPack) {
    store<kRowCopyPack>(copy.to + first, pack);
  } else {
    for (int i = 0; i < count; ++i) narrow_to(copy.to + first + i, pack[i]);
  }
}

}  // namespace

void copy_rows(CudaContext& context, bfloat16* to, int64_t to_columns, const bfloat16* from,
               int64_t from_columns, int64_t rows) {
  const RowCopy copy{to, from, to_columns, from_columns, rows * to_columns};
  const int64_t packs = (copy.elements + kRowCopyPack - 1) / kRowCopyPack;
  launch(context.queue, &row_copy_kernel,
         {.grid = {blocks_for(packs, kRowCopyThreads)}, .block = {kRowCopyThreads}}, copy);
}

}  // namespace penstock
