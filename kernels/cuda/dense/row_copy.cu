// kernels/cuda/dense/row_copy.cu -- bound by memory: a thread writes packs of 16 bytes that lie in
// one row of the result, each from the two packs of the source that it is in, shifted by as many
// elements as the rows are out of step. Only a row's first and last elements go one by one.
#include <algorithm>

#include "kernels/cuda/dense/row_copy.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"

namespace penstock {
namespace {

constexpr int kRowCopyThreads = 256;
constexpr int kPacksOfThread = 4;
constexpr int64_t kPack = 8;  // elements of a pack
constexpr int64_t kMostGridRows = 32768;

// This is passed to the kernel by value. It has no padding, because the queue compares the bytes of
// arguments.
struct RowCopy {
  bfloat16* to;
  const bfloat16* from;
  int64_t to_columns, from_columns, rows;

  __device__ void element(int64_t row, int64_t column) const {
    bfloat16 x;
    if (column < from_columns) x = from[row * from_columns + column];
    to[row * to_columns + column] = x;
  }

  // Writes the eight elements of a row from `column` on, where a pack of `to` starts.
  __device__ void pack(int64_t row, int64_t column) const {
    const int64_t start = row * from_columns + column;
    const auto shift = static_cast<int>(start % kPack);
    const int64_t first = start - shift;
    if (column + kPack > from_columns || first + 2 * kPack > rows * from_columns) {
      for (int64_t i = 0; i < kPack; ++i) element(row, column + i);
      return;
    }
    uint32_t words_of[8];  // two packs of `from`, which hold the eight elements
    words::load(words_of, from + first);
    shift_by<4, 2>(words_of, shift);
    shift_by<2, 1>(words_of, shift);
    uint32_t shifted[4];
    for (int i = 0; i < 4; ++i) {
      shifted[i] = shift % 2 == 0 ? words_of[i] : words_of[i] >> 16 | words_of[i + 1] << 16;
    }
    words::store(to + row * to_columns + column, shifted);
  }

 private:
  // Moves all words down by kWords if bit kElements of `shift` is set. The constant indices keep
  // the words in registers.
  template <int kElements, int kWords>
  __device__ static void shift_by(uint32_t (&at)[8], int shift) {
    if ((shift & kElements) == 0) return;
    for (int i = 0; i + kWords < 8; ++i) at[i] = at[i + kWords];
  }
};

__global__ void __launch_bounds__(kRowCopyThreads) row_copy_kernel(RowCopy copy) {
  const auto thread = static_cast<int64_t>(threadIdx.x);
  const int64_t begin = int64_t{blockIdx.x} * kRowCopyThreads * kPacksOfThread + thread;
  for (int64_t row = blockIdx.y; row < copy.rows; row += gridDim.y) {
    const int64_t head = (kPack - row * copy.to_columns % kPack) % kPack;
    const int64_t packs = (copy.to_columns - head) / kPack;
#pragma unroll
    for (int i = 0; i < kPacksOfThread; ++i) {
      const int64_t pack = begin + int64_t{i} * kRowCopyThreads;
      if (pack < packs) copy.pack(row, head + pack * kPack);
    }
    if (blockIdx.x > 0) continue;
    if (thread < head) copy.element(row, thread);
    const int64_t rest = head + packs * kPack + thread;
    if (rest < copy.to_columns) copy.element(row, rest);
  }
}

}  // namespace

void copy_rows(CudaContext& context, bfloat16* to, int64_t to_columns, const bfloat16* from,
               int64_t from_columns, int64_t rows) {
  if (rows == 0) return;
  const auto across = blocks_for(to_columns / kPack + 1, kRowCopyThreads * kPacksOfThread);
  const auto down = static_cast<uint32_t>(std::min(rows, kMostGridRows));
  launch(context.queue, &row_copy_kernel, {.grid = {across, down}, .block = {kRowCopyThreads}},
         RowCopy{to, from, to_columns, from_columns, rows});
}

}  // namespace penstock
