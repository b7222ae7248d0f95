// kernels/cpu/experts/experts.cpp -- mixtures of experts on the CPU: rows in the experts' order.
// The router is in routing.cpp, the products are in grouped_products.cpp.
#include <algorithm>
#include <functional>

#include "kernels/cpu/experts/grouped_products.h"
#include "kernels/cpu/experts/routing.h"
#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/simd_math.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {
namespace {

class CpuExperts final : public OnCpu<ExpertOps> {
 public:
  using OnCpu::OnCpu;

  void route(const Routing& routing, Tensor& weights, const Tensor& logits,
             const Tensor& correction, const Router& router) override {
    penstock::route(context_, routing, weights, logits, correction, router);
  }
  void route_backward(Tensor& dlogits, const Tensor& dweights, const Tensor& weights,
                      const Tensor& logits, const Routing& routing, const Router& router) override {
    penstock::route_backward(context_, dlogits, dweights, weights, logits, routing, router);
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
      for_rows(context_, sizes.slots(), width, [&](int64_t i) {
        std::copy_n(x.data<T>() + order[i] / sizes.chosen * width, width, y.data<T>() + i * width);
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
      for_rows(context_, sizes.slots(), 2 * width, [&](int64_t slot) {
        const T* from = g.data<T>() + slot / sizes.chosen * width;
        const int64_t at = places[slot] * width;
        const float weight = weights.data<float>()[slot];
        dweights.data<float>()[slot] = simd_dot(from, x.data<T>() + at, width);
        map_row(dx.data<T>() + at, from, width, [weight](float gi) { return weight * gi; });
      });
    });
  }

  void grouped_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor& offsets) override {
    penstock::grouped_forward(context_, y, x, w, offsets);
  }
  void grouped_backward_input(Tensor& dx, const Tensor& g, Weight& w,
                              const Tensor& offsets) override {
    penstock::grouped_backward_input(context_, dx, g, w, offsets);
  }
  void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g, const Tensor& offsets,
                               bool accumulate) override {
    penstock::grouped_backward_weight(context_, dw, x, g, offsets, accumulate);
  }

  void add_expert_bias(Tensor& y, const Tensor& bias, const Tensor& offsets) override {
    const int64_t width = expert_bias_width("add_expert_bias", y, bias, offsets);
    const auto* begin = offsets.data<int32_t>();
    with_element_type(y.dtype(), "add_expert_bias", [&]<class T>(T) {
      for_ranges(context_, y.shape().rows(), width, [&](int64_t first, int64_t last) {
        int64_t expert = 0;
        for (int64_t row = first; row < last; ++row) {
          while (begin[expert + 1] <= row) ++expert;
          T* line = y.data<T>() + row * width;
          map_row(line, line, bias.data<float>() + expert * width, width, std::plus<float>());
        }
      });
    });
  }
  void expert_bias_backward(Tensor& dbias, const Tensor& g, const Tensor& offsets) override {
    const int64_t width = expert_bias_width("expert_bias_backward", g, dbias, offsets);
    const int64_t experts = offsets.elements() - 1;
    const auto* begin = offsets.data<int32_t>();
    with_element_type(g.dtype(), "expert_bias_backward", [&]<class T>(T) {
      for_rows(context_, experts, g.elements() / experts, [&](int64_t expert) {
        float* sum = dbias.data<float>() + expert * width;
        for (int64_t row = begin[expert]; row < begin[expert + 1]; ++row) {
          map_row(sum, sum, g.data<T>() + row * width, width, std::plus<float>());
        }
      });
    });
  }

  void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) override {
    const int64_t width = x.shape().back();
    require_alike("gate_rows", y, x);
    require_elements("gate_rows", gate, x.shape().rows());
    with_element_type(x.dtype(), "gate_rows", [&]<class T>(T) {
      for_rows(context_, gate.elements(), width, [&](int64_t row) {
        const float factor = simd_sigmoid(static_cast<float>(gate.data<T>()[row]));
        map_row(y.data<T>() + row * width, x.data<T>() + row * width, width,
                [factor](float xi) { return factor * xi; });
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
      for_rows(context_, gate.elements(), 2 * width, [&](int64_t row) {
        const float factor = simd_sigmoid(static_cast<float>(gate.data<T>()[row]));
        const T* from = g.data<T>() + row * width;
        const float sum = simd_dot(from, x.data<T>() + row * width, width);
        dgate.data<T>()[row] = static_cast<T>(sum * factor * (1.0F - factor));
        map_row(dx.data<T>() + row * width, from, width,
                [factor](float gi) { return factor * gi; });
      });
    });
  }

 private:
  // to[r] = the sum over the slots of row r, ascending, of weight_of(slot) times their row of
  // `from`.
  template <class WeightOf>
  void add_slots(Tensor& to, const Tensor& from, const Routing& routing, const RoutingSizes& sizes,
                 int64_t width, const WeightOf& weight_of) {
    const auto* places = routing.places.data<int32_t>();
    constexpr int64_t kPiece = 256;  // columns that are summed at a time
    with_element_type(to.dtype(), "combine", [&]<class T>(T) {
      // A loop over rows of its own takes 0.9 of the instructions that for_rows() takes here.
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
};

}  // namespace

std::unique_ptr<ExpertOps> cpu_expert_ops(CpuContext& context) {
  return std::make_unique<CpuExperts>(context);
}

}  // namespace penstock
