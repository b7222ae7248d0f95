// kernels/cpu/layout.cpp -- concat, split, transpose and put_rows: copies of bytes, whatever they
// stand for.
#include <cstring>

#include "kernels/cpu/loops/loops.h"
#include "kernels/ops/layout_plan.h"

namespace penstock {
namespace {

// A slab consists of equally long stretches of bytes, which begin `stride_bytes` apart.
struct Slab {
  std::byte* data;
  int64_t stride_bytes;
};

void copy_rows(const CpuContext& context, Slab to, Slab from, int64_t rows, int64_t size_bytes) {
  for_rows(context, rows, size_bytes / 4, [&](int64_t r) {
    std::memcpy(to.data + r * to.stride_bytes, from.data + r * from.stride_bytes,
                static_cast<size_t>(size_bytes));
  });
}

std::byte* bytes_of(const Tensor& t) {
  return static_cast<std::byte*>(t.raw());
}

struct Offsets {
  int64_t y, x;
};
// Returns the offsets in y and in x of element number `index`, counted over all axes except the
// innermost `skipped` ones.
Offsets offsets_of(const Permutation& p, int skipped, int64_t index) {
  Offsets at{0, 0};
  for (int i = skipped; i < p.count; ++i) {
    const Axis& axis = p.from_last(i);
    at.y += index % axis.extent * axis.y_stride;
    at.x += index % axis.extent * axis.x_stride;
    index /= axis.extent;
  }
  return at;
}

// Transposes rows [first, last) of one matrix, kTile columns at a time. A row of y reads a single
// element from each of many cache lines of x. With few columns these lines are still in the cache
// when the next row of y reads them.
template <class Element>
void transpose_tiles(Element* y, const Element* x, const Axis& rows, const Axis& columns,
                     int64_t first, int64_t last) {
  constexpr int64_t kTile = 32;
  for (int64_t j0 = 0; j0 < columns.extent; j0 += kTile) {
    const int64_t j1 = std::min(j0 + kTile, columns.extent);
    for (int64_t i = first; i < last; ++i) {
      for (int64_t j = j0; j < j1; ++j) {
        y[i * rows.y_stride + j] = x[i * rows.x_stride + j * columns.x_stride];
      }
    }
  }
}

// Permutes the outer axes. The innermost axis stays where it is, so its elements are copied
// together.
template <class Element>
void permute_runs(const CpuContext& context, Element* y, const Element* x, const Permutation& p,
                  int64_t elements) {
  const int64_t run = p.from_last(0).extent;
  for_rows(context, elements / run, run, [&](int64_t r) {
    const Offsets at = offsets_of(p, 1, r);
    std::memcpy(y + at.y, x + at.x, static_cast<size_t>(run) * sizeof(Element));
  });
}

template <class Element>
void permute_matrices(const CpuContext& context, Element* y, const Element* x, const Permutation& p,
                      int64_t elements) {
  constexpr int64_t kStrip = 32;  // rows that one thread takes at a time
  const Axis& columns = p.from_last(0);
  const Axis& rows = p.from_last(1);
  const int64_t strips = (rows.extent + kStrip - 1) / kStrip;
  const int64_t matrices = elements / (rows.extent * columns.extent);
  for_rows(context, matrices * strips, kStrip * columns.extent, [=](int64_t s) {
    const Offsets at = offsets_of(p, 2, s / strips);
    const int64_t row = s % strips * kStrip;
    transpose_tiles(y + at.y, x + at.x, rows, columns, row, std::min(row + kStrip, rows.extent));
  });
}

class CpuLayout final : public OnCpu<LayoutOps> {
 public:
  using OnCpu::OnCpu;

  void concat(Tensor& y, std::span<const Tensor> parts, int axis) override {
    for_each_part(
        "concat", parts, y, axis,
        [&](const Tensor& part, int64_t rows, int64_t at, int64_t run, int64_t whole_run) {
          copy_rows(context_, {bytes_of(y) + at, whole_run}, {bytes_of(part), run}, rows, run);
        });
  }
  void split(std::span<Tensor> parts, const Tensor& x, int axis) override {
    for_each_part(
        "split", parts, x, axis,
        [&](Tensor& part, int64_t rows, int64_t at, int64_t run, int64_t whole_run) {
          copy_rows(context_, {bytes_of(part), run}, {bytes_of(x) + at, whole_run}, rows, run);
        });
  }
  void transpose(Tensor& y, const Tensor& x, std::span<const int> order) override {
    check_order(y, x, order);
    if (x.elements() == 0) return;
    const Permutation p = permutation_of(x, order);
    with_element_type(x.dtype(), "transpose", [&]<class T>(T) {
      auto* to = y.data<T>();
      const auto* from = x.data<const T>();
      if (p.from_last(0).x_stride == 1) return permute_runs(context_, to, from, p, x.elements());
      permute_matrices(context_, to, from, p, x.elements());
    });
  }
  void put_rows(Tensor& y, const Tensor& x, const Tensor& rows) override {
    check_put_rows(y, x, rows);
    const int64_t run = x.shape().back() * static_cast<int64_t>(size_of(x.dtype()));
    const int64_t there = y.shape().rows();
    const auto* places = rows.data<const int32_t>();
    // All rows are checked before the first is written, because a parallel loop must not throw.
    const auto outside = [there](int32_t place) { return place < 0 || place >= there; };
    if (std::any_of(places, places + rows.elements(), outside)) {
      fail_internal("put_rows: a row is outside");
    }
    for_rows(context_, rows.elements(), run / 4, [&](int64_t r) {
      std::memcpy(bytes_of(y) + places[r] * run, bytes_of(x) + r * run, static_cast<size_t>(run));
    });
  }
};

}  // namespace

std::unique_ptr<LayoutOps> cpu_layout_ops(CpuContext& context) {
  return std::make_unique<CpuLayout>(context);
}

}  // namespace penstock
