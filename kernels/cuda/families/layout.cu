// kernels/cuda/families/layout.cu -- concat, split, transpose and put_rows: copies of bytes,
// whatever they stand for. Bound by memory.
#include <algorithm>

#include "kernels/cuda/families.h"
#include "kernels/cuda/queue/launch.h"
#include "kernels/error.h"
#include "kernels/ops/layout_plan.h"

namespace penstock {
namespace {

constexpr int kLayoutThreads = 256;

// Describes a strided copy: the extents of its axes, the last one innermost, and their strides in
// units.
struct Strided {
  int64_t count = 0;
  int64_t extent[Shape::kMaxRank]{};
  int64_t y_stride[Shape::kMaxRank]{};
  int64_t x_stride[Shape::kMaxRank]{};
};

// Copies one unit in each thread. Index has 32 bits if these are enough: each axis takes a
// division, and divisions of 32 bits are faster.
template <class Unit, class Index>
__global__ void __launch_bounds__(kLayoutThreads)
    copy_units_kernel(Unit* y, const Unit* x, Strided axes, int64_t units) {
  const int64_t i = int64_t{blockIdx.x} * kLayoutThreads + static_cast<int64_t>(threadIdx.x);
  if (i >= units) return;
  auto rest = static_cast<Index>(i);
  int64_t to = 0;
  int64_t from = 0;
  for (auto a = static_cast<int>(axes.count) - 1; a >= 0; --a) {
    const auto extent = static_cast<Index>(axes.extent[a]);
    const Index at = rest % extent;
    rest /= extent;
    to += static_cast<int64_t>(at) * axes.y_stride[a];
    from += static_cast<int64_t>(at) * axes.x_stride[a];
  }
  y[to] = x[from];
}

// Copies in units of this type. The strides in `axes` and its innermost extent are in bytes. The
// innermost axis is contiguous in x and in y.
template <class Unit>
void copy_in_units(CudaContext& context, std::byte* y, const std::byte* x, Strided axes) {
  const auto size = static_cast<int64_t>(sizeof(Unit));
  const auto last = static_cast<size_t>(axes.count - 1);
  axes.extent[last] /= size;
  int64_t units = 1;
  for (size_t a = 0; a <= last; ++a) {
    units *= axes.extent[a];
    axes.y_stride[a] = a == last ? 1 : axes.y_stride[a] / size;
    axes.x_stride[a] = a == last ? 1 : axes.x_stride[a] / size;
  }
  const auto run = [&](auto* kernel) {
    const LaunchShape shape{.grid = {blocks_for(units, kLayoutThreads)}, .block = {kLayoutThreads}};
    launch(context.queue, kernel, shape, reinterpret_cast<Unit*>(y),
           reinterpret_cast<const Unit*>(x), axes, units);
  };
  if (units <= INT32_MAX) {
    run(&copy_units_kernel<Unit, uint32_t>);
  } else {
    run(&copy_units_kernel<Unit, uint64_t>);
  }
}

// Copies in units of at most 16 bytes. The unit is the largest of which all sizes, strides and
// addresses are multiples. `axes` is as in copy_in_units().
void copy_strided(CudaContext& context, std::byte* y, const std::byte* x, const Strided& axes) {
  const auto last = static_cast<size_t>(axes.count - 1);
  uint64_t bits = reinterpret_cast<uintptr_t>(y) | reinterpret_cast<uintptr_t>(x) |
                  static_cast<uint64_t>(axes.extent[last]);
  for (size_t a = 0; a < last; ++a) {
    bits |= static_cast<uint64_t>(axes.y_stride[a]) | static_cast<uint64_t>(axes.x_stride[a]);
  }
  if (bits % 16 == 0) return copy_in_units<uint4>(context, y, x, axes);
  if (bits % 8 == 0) return copy_in_units<uint2>(context, y, x, axes);
  if (bits % 4 == 0) return copy_in_units<uint32_t>(context, y, x, axes);
  if (bits % 2 == 0) return copy_in_units<uint16_t>(context, y, x, axes);
  copy_in_units<uint8_t>(context, y, x, axes);
}

// Copies `rows` runs of `run` bytes each.
void copy_rows(CudaContext& context, std::byte* y, int64_t y_stride, const std::byte* x,
               int64_t x_stride, int64_t rows, int64_t run) {
  if (rows == 0 || run == 0) return;
  Strided axes{.count = 2};
  axes.extent[0] = rows;
  axes.y_stride[0] = rows == 1 ? 0 : y_stride;  // one row's stride must not force small units
  axes.x_stride[0] = rows == 1 ? 0 : x_stride;
  axes.extent[1] = run;
  copy_strided(context, y, x, axes);
}

// Describes many matrices to transpose. x is contiguous along `rows`, y along `columns`.
struct Matrices {
  Axis rows, columns;
  Strided outer;
};

constexpr int kTileLanes = 32;  // threads along a row of a tile
constexpr int kTileStrips = 8;  // rows of a tile that are read or written at once
// Rows and columns of a tile: a row takes 128 bytes, so that enough bytes are under way.
template <class Element>
inline constexpr int kTile = 128 / static_cast<int>(sizeof(Element));

// Transposes by tiles. A tile goes through shared memory, so that both reads and writes are
// contiguous. A row of the tile is padded by 4 bytes, which puts a column into 32 different banks.
template <class Element>
__global__ void __launch_bounds__(kTileLanes* kTileStrips)
    transpose_kernel(Element* y, const Element* x, Matrices m, int64_t row_tiles,
                     int64_t column_tiles) {
  constexpr int kSide = kTile<Element>;
  __shared__ Element tile[kSide][kSide + 4 / sizeof(Element)];
  int64_t rest = blockIdx.x;
  const int64_t column = rest % column_tiles * kSide;
  rest /= column_tiles;
  const int64_t row = rest % row_tiles * kSide;
  rest /= row_tiles;
  for (auto a = static_cast<int>(m.outer.count) - 1; a >= 0; --a) {
    const int64_t at = rest % m.outer.extent[a];
    rest /= m.outer.extent[a];
    y += at * m.outer.y_stride[a];
    x += at * m.outer.x_stride[a];
  }
  const int first_lane = static_cast<int>(threadIdx.x);
  const int strip = static_cast<int>(threadIdx.y);
#pragma unroll
  for (int k = strip; k < kSide; k += kTileStrips) {
#pragma unroll
    for (int lane = first_lane; lane < kSide; lane += kTileLanes) {
      if (row + lane < m.rows.extent && column + k < m.columns.extent) {
        tile[k][lane] = x[row + lane + (column + k) * m.columns.x_stride];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = strip; k < kSide; k += kTileStrips) {
#pragma unroll
    for (int lane = first_lane; lane < kSide; lane += kTileLanes) {
      if (row + k < m.rows.extent && column + lane < m.columns.extent) {
        y[(row + k) * m.rows.y_stride + column + lane] = tile[lane][k];
      }
    }
  }
}

// Returns the axes of p except the innermost `skipped`, with their strides times `unit`.
Strided outer_axes(const Permutation& p, int skipped, int64_t unit) {
  Strided axes{.count = p.count - skipped};
  for (int i = 0; i < p.count - skipped; ++i) {
    const Axis& axis = p.axes[static_cast<size_t>(i)];
    axes.extent[i] = axis.extent;
    axes.y_stride[i] = axis.y_stride * unit;
    axes.x_stride[i] = axis.x_stride * unit;
  }
  return axes;
}

template <class Element>
void transpose_matrices(CudaContext& context, Tensor& y, const Tensor& x, const Permutation& p) {
  const Matrices m{p.from_last(1), p.from_last(0), outer_axes(p, 2, 1)};
  constexpr int kSide = kTile<Element>;
  const int64_t row_tiles = (m.rows.extent + kSide - 1) / kSide;
  const int64_t column_tiles = (m.columns.extent + kSide - 1) / kSide;
  const int64_t matrices = x.elements() / (m.rows.extent * m.columns.extent);
  const LaunchShape shape{.grid = {static_cast<uint32_t>(matrices * row_tiles * column_tiles)},
                          .block = {kTileLanes, kTileStrips}};
  launch(context.queue, &transpose_kernel<Element>, shape, static_cast<Element*>(y.raw()),
         static_cast<const Element*>(x.raw()), m, row_tiles, column_tiles);
}

template <class Unit>
__global__ void __launch_bounds__(kLayoutThreads)
    put_rows_kernel(Unit* y, const Unit* x, const int32_t* rows, int64_t run, int64_t units) {
  const int64_t i = int64_t{blockIdx.x} * kLayoutThreads + static_cast<int64_t>(threadIdx.x);
  if (i < units) y[int64_t{rows[i / run]} * run + i % run] = x[i];
}

template <class Unit>
void put_rows_in_units(CudaContext& context, Tensor& y, const Tensor& x, const Tensor& rows) {
  const auto units = static_cast<int64_t>(x.size_bytes() / sizeof(Unit));
  const LaunchShape shape{.grid = {blocks_for(units, kLayoutThreads)}, .block = {kLayoutThreads}};
  launch(context.queue, &put_rows_kernel<Unit>, shape, static_cast<Unit*>(y.raw()),
         static_cast<const Unit*>(x.raw()), rows.data<const int32_t>(), units / rows.elements(),
         units);
}

std::byte* bytes_of(const Tensor& t) {
  return static_cast<std::byte*>(t.raw());
}

class CudaLayout final : public LayoutOps {
 public:
  explicit CudaLayout(CudaContext& context) : context_(context) {}

  void concat(Tensor& y, std::span<const Tensor> parts, int axis) override {
    for_each_part(
        "concat", parts, y, axis,
        [&](const Tensor& part, int64_t rows, int64_t at, int64_t run, int64_t whole_run) {
          copy_rows(context_, bytes_of(y) + at, whole_run, bytes_of(part), run, rows, run);
        });
  }
  void split(std::span<Tensor> parts, const Tensor& x, int axis) override {
    for_each_part("split", parts, x, axis,
                  [&](Tensor& part, int64_t rows, int64_t at, int64_t run, int64_t whole_run) {
                    copy_rows(context_, bytes_of(part), run, bytes_of(x) + at, whole_run, rows,
                              run);
                  });
  }
  void transpose(Tensor& y, const Tensor& x, std::span<const int> order) override {
    check_order(y, x, order);
    if (x.dtype() != DType::F32 && x.dtype() != DType::BF16) {
      fail_internal(std::string("transpose takes fp32 or bf16, not ") + name_of(x.dtype()));
    }
    if (x.elements() == 0) return;
    const Permutation p = permutation_of(x, order);
    if (p.from_last(0).x_stride == 1) {  // the innermost axis stays: runs are copied
      const auto size = static_cast<int64_t>(size_of(x.dtype()));
      Strided axes = outer_axes(p, 0, size);
      axes.extent[axes.count - 1] *= size;
      copy_strided(context_, bytes_of(y), bytes_of(x), axes);
    } else if (x.dtype() == DType::F32) {
      transpose_matrices<float>(context_, y, x, p);
    } else {
      transpose_matrices<uint16_t>(context_, y, x, p);
    }
  }
  void put_rows(Tensor& y, const Tensor& x, const Tensor& rows) override {
    check_put_rows(y, x, rows);
    if (x.elements() == 0) return;
    const uint64_t bits = reinterpret_cast<uintptr_t>(y.raw()) |
                          reinterpret_cast<uintptr_t>(x.raw()) |
                          static_cast<uint64_t>(x.shape().back()) * size_of(x.dtype());
    if (bits % 16 == 0) return put_rows_in_units<uint4>(context_, y, x, rows);
    put_rows_in_units<uint16_t>(context_, y, x, rows);
  }

 private:
  CudaContext& context_;
};

}  // namespace

std::unique_ptr<LayoutOps> cuda_layout_ops(CudaContext& context) {
  return std::make_unique<CudaLayout>(context);
}

}  // namespace penstock
