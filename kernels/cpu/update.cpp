// kernels/cpu/update.cpp -- optimizer arithmetic: one pass over flat fp32 arrays, bound by memory.
#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/simd_math.h"

namespace penstock {
namespace {

class CpuUpdate final : public UpdateOps {
 public:
  explicit CpuUpdate(CpuContext& context) : context_(context) {}

  void sgd(Tensor& w, Tensor* velocity, const Tensor& g, const SgdStep& step) override {
    require_alike("sgd", w, g);
    if (velocity == nullptr) {
      if (step.momentum != 0.0F) fail_internal("sgd with momentum needs a velocity");
      return for_weights(w, g, [s = step](float& wi, float gi, int64_t /*i*/) {
        wi -= s.learning_rate * (s.scale * gi + s.weight_decay * wi);
      });
    }
    require_alike("sgd", w, *velocity);
    auto* v = velocity->data<float>();
    // A number, not a choice: the loop stays without branches.
    const float ahead = step.nesterov ? 1.0F : 0.0F;
    const float inertia = step.nesterov ? step.momentum : 1.0F;
    for_weights(w, g, [=, s = step](float& wi, float gi, int64_t i) {
      const float gradient = s.scale * gi + s.weight_decay * wi;
      const float speed = s.momentum * v[i] + gradient;
      v[i] = speed;
      wi -= s.learning_rate * (ahead * gradient + inertia * speed);
    });
  }

  void rmsprop(Tensor& w, Tensor& square, Tensor* moment, const Tensor& g,
               const RmsPropStep& step) override {
    require_alike("rmsprop", w, g);
    require_alike("rmsprop", w, square);
    if (moment == nullptr && step.momentum != 0.0F) {
      fail_internal("rmsprop with momentum needs a moment");
    }
    auto* s = square.data<float>();
    // The update of one weight before momentum.
    const auto change = [s, p = step](float wi, float gi, int64_t i) {
      const float gradient = p.scale * gi + p.weight_decay * wi;
      s[i] = p.decay * s[i] + (1.0F - p.decay) * gradient * gradient;
      return p.learning_rate * gradient / std::sqrt(s[i] + p.epsilon);
    };
    if (moment == nullptr) {
      return for_weights(w, g, [=](float& wi, float gi, int64_t i) { wi -= change(wi, gi, i); });
    }
    require_alike("rmsprop", w, *moment);
    auto* m = moment->data<float>();
    for_weights(w, g, [=, momentum = step.momentum](float& wi, float gi, int64_t i) {
      m[i] = momentum * m[i] + change(wi, gi, i);
      wi -= m[i];
    });
  }

  void adam(Tensor& w, Tensor& first, Tensor& second, const Tensor& g,
            const AdamStep& step) override {
    require_alike("adam", w, g);
    require_alike("adam", w, first);
    require_alike("adam", w, second);
    auto* m = first.data<float>();
    auto* v = second.data<float>();
    const auto t = static_cast<double>(step.step);
    const auto m_correction = static_cast<float>(1.0 / (1.0 - std::pow(double{step.beta1}, t)));
    const auto v_correction = static_cast<float>(1.0 / (1.0 - std::pow(double{step.beta2}, t)));
    const float coupled = step.decoupled ? 0.0F : step.weight_decay;
    const float shrink = step.decoupled ? step.learning_rate * step.weight_decay : 0.0F;
    for_weights(w, g, [=, s = step](float& wi, float gi, int64_t i) {
      const float gradient = s.scale * gi + coupled * wi;
      m[i] = s.beta1 * m[i] + (1.0F - s.beta1) * gradient;
      v[i] = s.beta2 * v[i] + (1.0F - s.beta2) * gradient * gradient;
      const float spread = std::sqrt(v[i] * v_correction) + s.epsilon;
      wi -= shrink * wi + s.learning_rate * (m[i] * m_correction) / spread;
    });
  }

  void moving_average(Tensor& average, const Tensor& w, float decay) override {
    require_alike("moving_average", average, w);
    for_weights(average, w, [decay](float& average_i, float wi, int64_t /*i*/) {
      average_i = decay * average_i + (1.0F - decay) * wi;
    });
  }

  void sum_of_squares(Tensor& result, const Tensor& x) override {
    require_elements("sum_of_squares", result, 1);
    constexpr int64_t kBlock = 4096;
    const int64_t elements = x.elements();
    const int64_t blocks = (elements + kBlock - 1) / kBlock;
    const Tensor partial = scratch(context_, blocks, DType::F64);
    auto* sums = partial.data<double>();
    with_element_type(x.dtype(), "sum_of_squares", [&]<class T>(T) {
      const T* from = x.data<T>();
      for_ranges(context_, blocks, kBlock, [=](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
          const T* start = from + block * kBlock;
          const int64_t count = std::min(kBlock, elements - block * kBlock);
          sums[block] = simd_sum<double>(count, [start](int64_t i) {
            const double element = static_cast<float>(start[i]);
            return element * element;
          });
        }
      });
    });
    double total = 0.0;
    for (int64_t block = 0; block < blocks; ++block) total += sums[block];
    *result.data<double>() = total;
  }

 private:
  // f(weight, gradient, index) for every element.
  template <class F>
  void for_weights(Tensor& w, const Tensor& g, const F& f) {
    auto* weights = w.data<float>();
    const auto* gradients = g.data<const float>();
    for_elements(context_, w.elements(), [=](int64_t first, int64_t last) {
      const F update = f;  // a copy, whose constants the stores below cannot alias
#pragma GCC ivdep
      for (int64_t i = first; i < last; ++i) update(weights[i], gradients[i], i);
    });
  }

  CpuContext& context_;
};

}  // namespace

std::unique_ptr<UpdateOps> cpu_update_ops(CpuContext& context) {
  return std::make_unique<CpuUpdate>(context);
}

}  // namespace penstock
