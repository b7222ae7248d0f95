// kernels/cpu/update.cpp -- optimizer arithmetic: one pass over flat fp32 arrays, bound by memory.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/simd_math.h"

namespace penstock {
namespace {

class CpuUpdate final : public OnCpu<UpdateOps> {
 public:
  using OnCpu::OnCpu;

  void sgd(std::span<const SgdTensors> all, const SgdStep& step) override {
    for (const SgdTensors& t : all) sgd_of(t, step);
  }
  void rmsprop(std::span<const RmsPropTensors> all, const RmsPropStep& step) override {
    for (const RmsPropTensors& t : all) rmsprop_of(t, step);
  }
  void adam(std::span<const AdamTensors> all, const AdamStep& step) override {
    for (const AdamTensors& t : all) adam_of(t, step);
  }
  void lion(std::span<const LionTensors> all, const LionStep& step) override {
    for (const LionTensors& t : all) lion_of(t, step);
  }
  void adafactor_change(Tensor& change, const Tensor& gradient, const Tensor& rows,
                        const Tensor& columns, const Tensor& mean, float scale) override {
    require_alike("adafactor", change, gradient);
    const int64_t width = columns ? columns.elements() : 1;
    require_elements("adafactor", gradient, rows.elements() * width);
    const float spread =
        columns ? 1.0F / std::max(*mean.data<const float>(), kAdafactorLeast) : 1.0F;
    const float one = 1.0F;
    const float* row = rows.data<const float>();
    const float* column = columns ? columns.data<const float>() : &one;
    const float* from = gradient.data<const float>();
    float* to = change.data<float>();
    for_rows(context_, rows.elements(), width, [=](int64_t i) {
      for (int64_t j = 0; j < width; ++j) {
        const float moment =
            std::max(row[i] * column[j] * spread, kAdafactorLeast * kAdafactorLeast);
        to[i * width + j] = scale * from[i * width + j] / std::sqrt(moment);
      }
    });
  }
  void adafactor_move(Tensor& weight, const Tensor& change, const Tensor& weight_squares,
                      const Tensor& change_squares, const AdafactorMove& move) override {
    require_alike("adafactor", weight, change);
    const auto elements = static_cast<double>(weight.elements());
    const double size = std::sqrt(sum_of(weight_squares) / elements);
    const double change_size = std::sqrt(sum_of(change_squares) / elements);
    const auto factor = static_cast<float>(move.rate * std::max(kAdafactorLeastSize, size) /
                                           std::max(1.0, change_size));
    const float shrink = move.learning_rate * move.weight_decay;
    for_weights(weight, change,
                [=](float& wi, float ui, int64_t /*i*/) { wi -= shrink * wi + factor * ui; });
  }
  void moving_average(std::span<const AverageTensors> all, float decay) override {
    for (const AverageTensors& t : all) {
      require_alike("moving_average", t.average, t.weight);
      for_weights(t.average, t.weight, [decay](float& average_i, float wi, int64_t /*i*/) {
        average_i = decay * average_i + (1.0F - decay) * wi;
      });
    }
  }
  void squares_by_block(Tensor& results, std::span<const Tensor> all) override {
    int64_t blocks = 0;
    for (const Tensor& x : all) blocks += squares_blocks(x.elements());
    require_elements("squares_by_block", results, blocks);
    auto* sums = results.data<double>();
    for (const Tensor& x : all) {
      squares_of(x, sums);
      sums += squares_blocks(x.elements());
    }
  }
  void divide_by_norm(Tensor& x, const Tensor& squares, float least) override {
    require_elements("divide_by_norm", squares, squares_blocks(x.elements()));
    const double norm = std::sqrt(sum_of(squares));
    const auto factor = static_cast<float>(1.0 / std::max(norm, double{least}));
    auto* values = x.data<float>();
    map(context_, values, values, x.elements(), [factor](float xi) { return xi * factor; });
  }

 private:
  static double sum_of(const Tensor& sums) {
    double sum = 0.0;
    for (const double of_block : sums.span<const double>()) sum += of_block;
    return sum;
  }

  void sgd_of(const SgdTensors& t, const SgdStep& step) {
    const Tensor& w = t.weight;
    const Tensor& g = t.gradient;
    const float weight_decay = t.weight_decay;
    require_alike("sgd", w, g);
    if (!t.velocity) {
      if (step.momentum != 0.0F) fail_internal("sgd with momentum needs a velocity");
      return for_weights(w, g, [s = step, weight_decay](float& wi, float gi, int64_t /*i*/) {
        wi -= s.learning_rate * (s.scale * gi + weight_decay * wi);
      });
    }
    require_alike("sgd", w, t.velocity);
    auto* v = t.velocity.data<float>();
    // Two factors choose between Nesterov's momentum and the plain one, so the loop has no branch.
    const float ahead = step.nesterov ? 1.0F : 0.0F;
    const float inertia = step.nesterov ? step.momentum : 1.0F;
    for_weights(w, g, [=, s = step](float& wi, float gi, int64_t i) {
      const float gradient = s.scale * gi + weight_decay * wi;
      const float speed = s.momentum * v[i] + gradient;
      v[i] = speed;
      wi -= s.learning_rate * (ahead * gradient + inertia * speed);
    });
  }

  void rmsprop_of(const RmsPropTensors& t, const RmsPropStep& step) {
    const Tensor& w = t.weight;
    const Tensor& g = t.gradient;
    require_alike("rmsprop", w, g);
    require_alike("rmsprop", w, t.square);
    if (!t.moment && step.momentum != 0.0F) {
      fail_internal("rmsprop with momentum needs a moment");
    }
    auto* s = t.square.data<float>();
    // Returns the change of one weight before momentum, and updates the mean square s[i].
    const auto change = [s, p = step, weight_decay = t.weight_decay](float wi, float gi,
                                                                     int64_t i) {
      const float gradient = p.scale * gi + weight_decay * wi;
      s[i] = p.decay * s[i] + (1.0F - p.decay) * gradient * gradient;
      return p.learning_rate * gradient / std::sqrt(s[i] + p.epsilon);
    };
    if (!t.moment) {
      return for_weights(w, g, [=](float& wi, float gi, int64_t i) { wi -= change(wi, gi, i); });
    }
    require_alike("rmsprop", w, t.moment);
    auto* m = t.moment.data<float>();
    for_weights(w, g, [=, momentum = step.momentum](float& wi, float gi, int64_t i) {
      m[i] = momentum * m[i] + change(wi, gi, i);
      wi -= m[i];
    });
  }

  void adam_of(const AdamTensors& t, const AdamStep& step) {
    const Tensor& w = t.weight;
    const Tensor& g = t.gradient;
    require_alike("adam", w, g);
    require_alike("adam", w, t.first);
    require_alike("adam", w, t.second);
    auto* m = t.first.data<float>();
    auto* v = t.second.data<float>();
    const auto steps = static_cast<double>(step.step);
    const auto m_correction = static_cast<float>(1.0 / (1.0 - std::pow(double{step.beta1}, steps)));
    const auto v_correction = static_cast<float>(1.0 / (1.0 - std::pow(double{step.beta2}, steps)));
    const float coupled = step.decoupled ? 0.0F : t.weight_decay;
    const float shrink = step.decoupled ? step.learning_rate * t.weight_decay : 0.0F;
    for_weights(w, g, [=, s = step](float& wi, float gi, int64_t i) {
      const float gradient = s.scale * gi + coupled * wi;
      m[i] = s.beta1 * m[i] + (1.0F - s.beta1) * gradient;
      v[i] = s.beta2 * v[i] + (1.0F - s.beta2) * gradient * gradient;
      const float spread = std::sqrt(v[i] * v_correction) + s.epsilon;
      wi -= shrink * wi + s.learning_rate * (m[i] * m_correction) / spread;
    });
  }

  void lion_of(const LionTensors& t, const LionStep& step) {
    require_alike("lion", t.weight, t.gradient);
    require_alike("lion", t.weight, t.mean);
    auto* m = t.mean.data<float>();
    for_weights(t.weight, t.gradient,
                [=, s = step, decay = t.weight_decay](float& wi, float gi, int64_t i) {
                  const float gradient = s.scale * gi;
                  const float wanted = s.beta1 * m[i] + (1.0F - s.beta1) * gradient;
                  const float sign = (wanted > 0.0F ? 1.0F : 0.0F) - (wanted < 0.0F ? 1.0F : 0.0F);
                  m[i] = s.beta2 * m[i] + (1.0F - s.beta2) * gradient;
                  wi -= s.learning_rate * (sign + decay * wi);
                });
  }

  void squares_of(const Tensor& x, double* sums) {
    const int64_t elements = x.elements();
    with_element_type(x.dtype(), "squares_by_block", [&]<class T>(T) {
      const T* from = x.data<T>();
      for_rows(context_, squares_blocks(elements), kSquaresBlock, [=](int64_t block) {
        const T* start = from + block * kSquaresBlock;
        const int64_t count = std::min(kSquaresBlock, elements - block * kSquaresBlock);
        sums[block] = simd_sum<double>(count, [start](int64_t i) {
          const double element = static_cast<float>(start[i]);
          return element * element;
        });
      });
    });
  }

  // Calls f(weight, gradient, index) for every element.
  template <class F>
  void for_weights(const Tensor& w, const Tensor& g, const F& f) {
    auto* weights = w.data<float>();
    const auto* gradients = g.data<const float>();
    for_elements(context_, w.elements(), [=](int64_t first, int64_t last) {
      const F update = f;  // a copy, whose constants the stores below cannot alias
#pragma GCC ivdep
      for (int64_t i = first; i < last; ++i) update(weights[i], gradients[i], i);
    });
  }
};

}  // namespace

std::unique_ptr<UpdateOps> cpu_update_ops(CpuContext& context) {
  return std::make_unique<CpuUpdate>(context);
}

}  // namespace penstock
