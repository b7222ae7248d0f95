// kernels/cpu/experts.cpp -- mixtures of experts on the CPU: rows in the experts' order, and the
// products of each expert with its rows.
//
// Products are computed by tiles of kTileRows rows of one expert (or, of a weight's gradient, so
// many of its rows), one thread each, so results do not depend on the number of threads. bf16 rows
// are widened first, and results rounded at the end.
#include <algorithm>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/simd_math.h"
#include "kernels/cpu/onednn/onednn_gemm.h"
#include "kernels/cpu/routing.h"

namespace penstock {
namespace {

constexpr int64_t kTileRows = 128;

int64_t tiles_of(int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}

// Calls body(i) for each i of [0, items), in parallel.
template <class Body>
void for_items(const CpuContext& context, int64_t items, const Body& body) {
  const auto shares = static_cast<int>(std::min<int64_t>(context.threads, items));
  for_shares(context.threads, shares, [&](int share) {
    for (int64_t i = items * share / shares; i < items * (share + 1) / shares; ++i) body(i);
  });
}

// Some rows of one expert.
struct Tile {
  int64_t expert, first, rows;
};
Tile tile_at(int64_t number, const int32_t* offsets) {
  int64_t expert = 0;
  for (; number >= tiles_of(offsets[expert + 1] - offsets[expert]); ++expert) {
    number -= tiles_of(offsets[expert + 1] - offsets[expert]);
  }
  const int64_t first = offsets[expert] + number * kTileRows;
  return {expert, first, std::min(kTileRows, offsets[expert + 1] - first)};
}

// The tensor itself, or a copy of it in fp32.
Tensor wide(const CpuContext& context, const Tensor& t) {
  if (t.dtype() == DType::F32) return t;
  Tensor copy = scratch(context, t.elements(), DType::F32);
  map(context, copy.data<float>(), t.data<bfloat16>(), t.elements(), [](float x) { return x; });
  return copy;
}

// Calls compute(result) with the fp32 numbers of y: y itself, or what is then rounded to it.
template <class Compute>
void into(const CpuContext& context, Tensor& y, const Compute& compute) {
  if (y.dtype() == DType::F32) return compute(y.data<float>());
  const Tensor result = scratch(context, y.elements(), DType::F32);
  compute(result.data<float>());
  map(context, y.data<bfloat16>(), result.data<float>(), y.elements(), [](float x) { return x; });
}

class CpuExperts final : public ExpertOps {
 public:
  explicit CpuExperts(CpuContext& context) : context_(context) {}

  void route(const Routing& routing, Tensor& weights, const Tensor& logits,
             const Tensor& correction, const Router& router) override {
    const RoutingSizes sizes = router_sizes("route", routing, logits, weights, router);
    if (correction) require_elements("route", correction, sizes.experts);
    penstock::route(context_, routing, weights, logits, correction, router, sizes);
  }
  void route_backward(Tensor& dlogits, const Tensor& dweights, const Tensor& weights,
                      const Tensor& logits, const Routing& routing, const Router& router) override {
    penstock::route_backward(context_, dlogits, dweights, weights, logits, routing, router,
                             router_sizes("route_backward", routing, dlogits, dweights, router));
  }

  void count_slots(Tensor& counts, const Tensor& offsets) override {
    const auto* offset = offsets.data<int32_t>();
    for (int64_t e = 0; e < counted_experts("count_slots", counts, offsets); ++e) {
      counts.data<float>()[e] += static_cast<float>(offset[e + 1] - offset[e]);
    }
  }

  void balance(Tensor& correction, const Tensor& counts, float rate) override {
    require_alike("balance", correction, counts);
    const auto experts = static_cast<double>(counts.elements());
    double sum = 0.0;
    for (const float count : counts.span<float>()) sum += count;
    for (int64_t e = 0; e < counts.elements(); ++e) {
      const double missing = sum - experts * static_cast<double>(counts.data<float>()[e]);
      if (missing != 0.0) correction.data<float>()[e] += missing > 0.0 ? rate : -rate;
    }
  }

  void gather(Tensor& y, const Tensor& x, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("gather", routing);
    const int64_t width = slot_width("gather", sizes, x, y);
    const auto* order = routing.order.data<int32_t>();
    with_element_type(y.dtype(), "gather", [&]<class T>(T) {
      for_ranges(context_, sizes.slots(), width, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          std::copy_n(x.data<T>() + order[i] / sizes.chosen * width, width,
                      y.data<T>() + i * width);
        }
      });
    });
  }
  void gather_backward(Tensor& dx, const Tensor& g, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("gather_backward", routing);
    const int64_t width = slot_width("gather_backward", sizes, dx, g);
    add_slots(dx, g, routing, sizes, width, [](int64_t /*slot*/) { return 1.0F; });
  }
  void combine(Tensor& y, const Tensor& x, const Tensor& weights, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("combine", routing);
    const int64_t width = slot_width("combine", sizes, y, x);
    require_elements("combine", weights, sizes.slots());
    const auto* weight = weights.data<float>();
    add_slots(y, x, routing, sizes, width, [weight](int64_t slot) { return weight[slot]; });
  }
  void combine_backward(Tensor& dx, Tensor& dweights, const Tensor& g, const Tensor& x,
                        const Tensor& weights, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("combine_backward", routing);
    const int64_t width = slot_width("combine_backward", sizes, g, x);
    require_alike("combine_backward", dx, x);
    require_elements("combine_backward", dweights, sizes.slots());
    const auto* places = routing.places.data<int32_t>();
    with_element_type(x.dtype(), "combine_backward", [&]<class T>(T) {
      for_ranges(context_, sizes.slots(), 2 * width, [&](int64_t first, int64_t last) {
        for (int64_t slot = first; slot < last; ++slot) {
          const T* from = g.data<T>() + slot / sizes.chosen * width;
          const T* row = x.data<T>() + places[slot] * width;
          T* to = dx.data<T>() + places[slot] * width;
          const float weight = weights.data<float>()[slot];
          dweights.data<float>()[slot] = simd_sum(width, [from, row](int64_t c) {
            return static_cast<float>(from[c]) * static_cast<float>(row[c]);
          });
#pragma GCC ivdep
          for (int64_t c = 0; c < width; ++c) {
            to[c] = static_cast<T>(weight * static_cast<float>(from[c]));
          }
        }
      });
    });
  }

  void grouped_forward(Tensor& y, const Tensor& x, const Weight& w,
                       const Tensor& offsets) override {
    const GroupedSizes sizes = grouped_sizes("grouped forward", y, x, w.value(), offsets);
    multiply(y, x, w.value(), offsets, {sizes.in, sizes.out, true});
  }
  void grouped_backward_input(Tensor& dx, const Tensor& g, const Weight& w,
                              const Tensor& offsets) override {
    const GroupedSizes sizes = grouped_sizes("grouped backward input", g, dx, w.value(), offsets);
    multiply(dx, g, w.value(), offsets, {sizes.out, sizes.in, false});
  }
  void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g, const Tensor& offsets,
                               bool accumulate) override {
    const GroupedSizes sizes = grouped_sizes("grouped backward weight", g, x, dw, offsets);
    require_sum("grouped backward weight", dw);
    const Tensor wide_x = wide(context_, x);
    const Tensor wide_g = wide(context_, g);
    const auto* offset = offsets.data<int32_t>();
    for_items(context_, sizes.experts * tiles_of(sizes.out), [&](int64_t i) {
      const int64_t expert = i % sizes.experts;
      const int64_t top = i / sizes.experts * kTileRows;
      const int64_t height = std::min(kTileRows, sizes.out - top);
      const int64_t first = offset[expert];
      const int64_t rows = offset[expert + 1] - first;
      float* to = dw.data<float>() + (expert * sizes.out + top) * sizes.in;
      if (rows == 0) {
        if (!accumulate) std::fill_n(to, height * sizes.in, 0.0F);
        return;
      }
      gemm(height, sizes.in, rows,
           {wide_g.data<float>() + first * sizes.out + top, sizes.out, true},
           {wide_x.data<float>() + first * sizes.in, sizes.in}, to, sizes.in, accumulate);
    });
  }

  void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) override {
    const int64_t width = x.shape().back();
    require_alike("gate_rows", y, x);
    require_elements("gate_rows", gate, x.shape().rows());
    with_element_type(x.dtype(), "gate_rows", [&]<class T>(T) {
      for_ranges(context_, gate.elements(), width, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
          const float factor = open(gate.data<T>()[row]);
          const T* from = x.data<T>() + row * width;
          T* to = y.data<T>() + row * width;
#pragma GCC ivdep
          for (int64_t c = 0; c < width; ++c) {
            to[c] = static_cast<T>(factor * static_cast<float>(from[c]));
          }
        }
      });
    });
  }
  void gate_rows_backward(Tensor& dx, Tensor& dgate, const Tensor& g, const Tensor& x,
                          const Tensor& gate) override {
    const int64_t width = x.shape().back();
    require_alike("gate_rows_backward", dx, x);
    require_alike("gate_rows_backward", g, x);
    require_elements("gate_rows_backward", gate, x.shape().rows());
    with_element_type(x.dtype(), "gate_rows_backward", [&]<class T>(T) {
      for_ranges(context_, gate.elements(), 2 * width, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
          const float factor = open(gate.data<T>()[row]);
          const T* value = x.data<T>() + row * width;
          const T* from = g.data<T>() + row * width;
          T* to = dx.data<T>() + row * width;
          const float sum = simd_sum(width, [from, value](int64_t c) {
            return static_cast<float>(from[c]) * static_cast<float>(value[c]);
          });
          dgate.data<T>()[row] = static_cast<T>(sum * factor * (1.0F - factor));
#pragma GCC ivdep
          for (int64_t c = 0; c < width; ++c) {
            to[c] = static_cast<T>(factor * static_cast<float>(from[c]));
          }
        }
      });
    });
  }

 private:
  template <class T>
  static float open(T gate) {
    return 1.0F / (1.0F + simd_exp(-static_cast<float>(gate)));
  }

  // to[r] = the sum over the slots of row r, ascending, of weight_of(slot) times their row of
  // `from`.
  template <class WeightOf>
  void add_slots(Tensor& to, const Tensor& from, const Routing& routing, const RoutingSizes& sizes,
                 int64_t width, const WeightOf& weight_of) {
    const auto* places = routing.places.data<int32_t>();
    constexpr int64_t kPiece = 256;  // columns that are summed at a time
    with_element_type(to.dtype(), "combine", [&]<class T>(T) {
      for_ranges(context_, sizes.rows, sizes.chosen * width, [&](int64_t first, int64_t last) {
        float sum[kPiece];
        for (int64_t row = first; row < last; ++row) {
          for (int64_t begin = 0; begin < width; begin += kPiece) {
            const int64_t count = std::min(kPiece, width - begin);
            std::fill(sum, sum + count, 0.0F);
            for (int64_t slot = row * sizes.chosen; slot < (row + 1) * sizes.chosen; ++slot) {
              const float weight = weight_of(slot);
              const T* line = from.data<T>() + places[slot] * width + begin;
#pragma GCC ivdep
              for (int64_t c = 0; c < count; ++c) sum[c] += weight * static_cast<float>(line[c]);
            }
            T* line = to.data<T>() + row * width + begin;
#pragma GCC ivdep
            for (int64_t c = 0; c < count; ++c) line[c] = static_cast<T>(sum[c]);
          }
        }
      });
    });
  }

  // The rows of x have `in` elements and those of y `out`; y = x w^T if `transposed`, else x w.
  struct Sides {
    int64_t in, out;
    bool transposed;
  };
  void multiply(Tensor& y, const Tensor& x, const Tensor& w, const Tensor& offsets,
                const Sides& sides) {
    const auto* offset = offsets.data<int32_t>();
    const int64_t experts = w.dim(0);
    const int64_t size = sides.in * sides.out;
    const int64_t step = sides.transposed ? sides.in : sides.out;  // of a row of w
    const Tensor rows = wide(context_, x);
    into(context_, y, [&](float* result) {
      const auto compute = [&](const Tile& tile, const float* weight) {
        gemm(tile.rows, sides.out, sides.in, {rows.data<float>() + tile.first * sides.in, sides.in},
             {weight, step, sides.transposed}, result + tile.first * sides.out, sides.out, false);
      };
      if (w.dtype() == DType::F32) {
        int64_t tiles = 0;
        for (int64_t e = 0; e < experts; ++e) tiles += tiles_of(offset[e + 1] - offset[e]);
        return for_items(context_, tiles, [&](int64_t i) {
          const Tile tile = tile_at(i, offset);
          compute(tile, w.data<float>() + tile.expert * size);
        });
      }
      // One expert's weights are widened at a time: all of them would take a stage's memory.
      for (int64_t e = 0; e < experts; ++e) {
        if (offset[e] == offset[e + 1]) continue;
        const Tensor weight = wide(context_, w.view(e * size, {size}));
        for_items(context_, tiles_of(offset[e + 1] - offset[e]), [&](int64_t i) {
          const int64_t first = offset[e] + i * kTileRows;
          compute({e, first, std::min(kTileRows, offset[e + 1] - first)}, weight.data<float>());
        });
      }
    });
  }

  CpuContext& context_;
};

}  // namespace

std::unique_ptr<ExpertOps> cpu_expert_ops(CpuContext& context) {
  return std::make_unique<CpuExperts>(context);
}

}  // namespace penstock
