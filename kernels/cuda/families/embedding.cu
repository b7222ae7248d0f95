// kernels/cuda/families/embedding.cu -- embedding tables. The forward is a copy of rows, bound by
// memory.
//
// The backward adds to each row of the table in ascending order of positions, without atomics on
// floats. The positions are sorted by id, equal ids by position: in chunks within a block first,
// then by merging runs two and two, where a binary search in the other run counts what comes
// before. Then each table row that occurs is summed by the warps that find its first position.
// Sorting n positions takes log2(n / kChunk) merges of at most log2(n) steps a position; adding is
// bound by memory, but for a row that has most of the positions by the latency of one warp's loads.
#include <utility>

#include "kernels/checks.h"
#include "kernels/cuda/families/token.h"
#include "kernels/cuda/loops/rows.h"
#include "kernels/cuda/report.h"

namespace penstock {
namespace {

// Copies rows of the table; a warp copies one row. An id outside of the table is reported and gives
// zeros.
template <int N, class T, class S>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    embedding_forward_kernel(T* y, const int32_t* ids, const S* table, int64_t rows, int64_t width,
                             int64_t table_rows, Finding* finding) {
  const int64_t row = row_of_thread<kWarp>();
  if (row >= rows) return;
  const int32_t id = ids[row];
  const bool bad = id < 0 || id >= table_rows;
  if (bad && threadIdx.x == 0) report(finding, Finding::TokenOutsideTable, id, table_rows);
  const S* from = table + (bad ? 0 : id) * width;
  T* to = y + row * width;
#pragma unroll 4
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * N; c < width; c += int64_t{kWarp} * N) {
    const Floats<N> x = bad ? Floats<N>{} : load<N>(from + c);
    store<N>(to + c, x);
  }
}

constexpr int kPlaceThreads = 256;
__global__ void __launch_bounds__(kPlaceThreads)
    places_kernel(int32_t* places, const int32_t* starts, int64_t count, int64_t time) {
  const int64_t i = int64_t{blockIdx.x} * kPlaceThreads + static_cast<int64_t>(threadIdx.x);
  if (i < count) places[i] = static_cast<int32_t>(i % time) - starts[i];
}

constexpr int kChunk = 512;

// Sorts the ids of each chunk, and their positions with them. The new place of an id is the number
// of ids in the chunk that come before it in the order.
__global__ void __launch_bounds__(kChunk)
    sort_chunks_kernel(int32_t* sorted_ids, int32_t* sorted_positions, const int32_t* ids,
                       int64_t count) {
  __shared__ int32_t chunk[kChunk];
  const int64_t first = int64_t{blockIdx.x} * kChunk;
  const int64_t left = count - first;
  const int size = left < kChunk ? static_cast<int>(left) : kChunk;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < size) chunk[thread] = ids[first + thread];
  __syncthreads();
  if (thread >= size) return;
  const int32_t id = chunk[thread];
  int place = 0;
  for (int i = 0; i < thread; ++i) place += chunk[i] <= id ? 1 : 0;
  for (int i = thread + 1; i < size; ++i) place += chunk[i] < id ? 1 : 0;
  sorted_ids[first + place] = id;
  sorted_positions[first + place] = static_cast<int32_t>(first) + thread;
}

// Returns how many of the ascending ids[0 .. size) are below `bound`.
__device__ int64_t count_below(const int32_t* ids, int64_t size, int64_t bound) {
  int64_t low = 0;
  int64_t high = size;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (ids[middle] < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Merges neighbouring runs of `run` sorted ids in pairs. The new place of an id is its place in its
// own run plus the number of ids of the other run that come before it in the order. Equal ids of
// the earlier run come before those of the later run.
__global__ void __launch_bounds__(kChunk)
    merge_runs_kernel(int32_t* merged_ids, int32_t* merged_positions, const int32_t* sorted_ids,
                      const int32_t* sorted_positions, int64_t count, int64_t run) {
  const int64_t i = int64_t{blockIdx.x} * kChunk + static_cast<int64_t>(threadIdx.x);
  if (i >= count) return;
  const int64_t own_run = i / run;
  const bool later = own_run % 2 == 1;
  const int64_t other = (later ? own_run - 1 : own_run + 1) * run;
  const int64_t left = count - other;  // not positive if the last run has no other to merge with
  const int32_t id = sorted_ids[i];
  int64_t place = i - (later ? run : 0);
  if (left > 0) {
    place +=
        count_below(sorted_ids + other, left < run ? left : run, int64_t{id} + (later ? 1 : 0));
  }
  merged_ids[place] = id;
  merged_positions[place] = sorted_positions[i];
}

// Adds rows of g to the table. The warp at the first position of an id adds a tile of columns, over
// all positions of that id in order.
template <int N, class T>
__global__ void __launch_bounds__(kWarp* kRowsPerBlock)
    add_rows_kernel(float* dtable, const T* g, const int32_t* ids, const int32_t* positions,
                    int64_t count, int64_t width, int64_t table_rows, Finding* finding) {
  const int64_t first = row_of_thread<kWarp>();
  const int64_t column = (int64_t{blockIdx.y} * kWarp + static_cast<int64_t>(threadIdx.x)) * N;
  if (first >= count) return;
  const int32_t id = ids[first];
  if (first > 0 && ids[first - 1] == id) return;
  if (id < 0 || id >= table_rows) {
    if (blockIdx.y == 0 && threadIdx.x == 0) {
      report(finding, Finding::TokenOutsideTable, id, table_rows);
    }
    return;
  }
  if (column >= width) return;
  float* to = dtable + id * width + column;
  Floats<N> sum = load<N>(to);
  constexpr int kAhead = 4;  // rows whose loads are in flight
  for (int64_t i = first; i < count && ids[i] == id; i += kAhead) {
    Floats<N> x[kAhead];
    bool same[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      same[a] = i + a < count && ids[i + a] == id;
      if (same[a]) x[a] = load<N>(g + positions[i + a] * width + column);
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      if (same[a]) {
        for (int k = 0; k < N; ++k) sum[k] += x[a][k];
      }
    }
  }
  store<N>(to, sum);
}

}  // namespace

void embedding_forward(CudaContext& context, Tensor& y, const Tensor& ids, const Tensor& table) {
  const int64_t width = table.dim(1);
  with_element_type(y.dtype(), "embedding_forward", [&]<class T>(T) {
    const auto copy_rows = [&]<class S>(const S* from) {
      const auto run = [&]<int N>() {
        launch(context.queue, &embedding_forward_kernel<N, T, S>, row_shape<kWarp>(ids.elements()),
               y.data<T>(), ids.data<int32_t>(), from, ids.elements(), width, table.dim(0),
               context.trouble.on_device());
      };
      const bool wide = width % 4 == 0 && is_aligned<4>(from) && is_aligned<4>(y.data<T>());
      wide ? run.template operator()<4>() : run.template operator()<1>();
    };
    if (table.dtype() == y.dtype()) return copy_rows(table.data<const T>());
    copy_rows(table.data<const float>());
  });
}

void embedding_backward(CudaContext& context, Tensor& dtable, const Tensor& ids, const Tensor& g) {
  const int64_t count = ids.elements();
  const int64_t width = dtable.dim(1);
  if (count == 0 || width == 0) return;
  // Scratch memory holds two pairs of rows; a pair is ids and their positions. Chunks are sorted
  // into the first pair, and each merge goes from one pair to the other.
  const Tensor scratch = context.scratch({4, count}, DType::I32);
  auto* sorted_ids = scratch.data<int32_t>();
  int32_t* sorted_positions = sorted_ids + count;
  int32_t* merged_ids = sorted_positions + count;
  int32_t* merged_positions = merged_ids + count;
  const LaunchShape chunks{.grid = {blocks_for(count, kChunk)}, .block = {kChunk}};
  launch(context.queue, &sort_chunks_kernel, chunks, sorted_ids, sorted_positions,
         ids.data<int32_t>(), count);
  for (int64_t run = kChunk; run < count; run *= 2) {
    launch(context.queue, &merge_runs_kernel, chunks, merged_ids, merged_positions, sorted_ids,
           sorted_positions, count, run);
    std::swap(sorted_ids, merged_ids);
    std::swap(sorted_positions, merged_positions);
  }
  auto* to = dtable.data<float>();
  with_element_type(g.dtype(), "embedding_backward", [&]<class T>(T) {
    const auto run = [&]<int N>() {
      LaunchShape shape = row_shape<kWarp>(count);
      shape.grid.y = blocks_for(width, kWarp * N);
      launch(context.queue, &add_rows_kernel<N, T>, shape, to, g.data<T>(), sorted_ids,
             sorted_positions, count, width, dtable.dim(0), context.trouble.on_device());
    };
    constexpr int kWide = kGroup<T>;
    const bool wide = width % kWide == 0 && is_aligned<kWide>(to) && is_aligned<kWide>(g.data<T>());
    wide ? run.template operator()<kWide>() : run.template operator()<1>();
  });
}

void packed_places(CudaContext& context, Tensor& places, const Tensor& starts) {
  const int64_t count = starts.elements();
  if (count == 0) return;
  const LaunchShape shape{.grid = {blocks_for(count, kPlaceThreads)}, .block = {kPlaceThreads}};
  launch(context.queue, &places_kernel, shape, places.data<int32_t>(),
         static_cast<const int32_t*>(starts.data<int32_t>()), count, starts.shape().back());
}

}  // namespace penstock
