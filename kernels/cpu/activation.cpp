// kernels/cpu/activation.cpp -- activations, which oneDNN computes, and gates of them.
#include <algorithm>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/simd_math.h"
#include "kernels/cpu/onednn/onednn.h"

namespace penstock {
namespace {

float open(float c) {
  return simd_sigmoid(kClampedGateSteepness * c);
}

class CpuActivation final : public OnCpu<ActivationOps> {
 public:
  using OnCpu::OnCpu;

  void forward(Tensor& y, const Tensor& x, Activation f) override {
    require_alike("activation_forward", y, x);
    context_.dnn.activation_forward(y.raw(), x.raw(), x.elements(), x.dtype(), f);
  }
  void backward(Tensor& dx, const Tensor& g, const Tensor& x, Activation f) override {
    require_alike("activation_backward", dx, x);
    require_alike("activation_backward", g, x);
    context_.dnn.activation_backward(dx.raw(), g.raw(), x.raw(), x.elements(), x.dtype(), f);
  }
  void gated_forward(Tensor& y, const Tensor& gate, const Tensor& x, Activation f) override {
    require_alike("gated_forward", gate, x);
    forward(y, gate, f);
    multiply(y, y, x);
  }
  void gated_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                      const Tensor& x, Activation f) override {
    require_alike("gated_backward", gate, x);
    forward(dx, gate, f);
    multiply(dx, dx, g);
    multiply(dgate, g, x);
    backward(dgate, dgate, gate, f);
  }
  void clamped_gate_forward(Tensor& y, const Tensor& gate, const Tensor& x, float limit) override {
    map_alike(context_, "clamped_gate_forward", y, gate, x, [limit](float gi, float xi) {
      const float c = std::min(gi, limit);
      return (std::clamp(xi, -limit, limit) + 1.0F) * c * open(c);
    });
  }
  void clamped_gate_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                             const Tensor& x, float limit) override {
    // First the derivatives, then these times g.
    map_alike(context_, "clamped_gate_backward", dgate, gate, x, [limit](float gi, float xi) {
      const float s = open(gi);
      const float slope = s * (1.0F + kClampedGateSteepness * gi * (1.0F - s));
      return gi > limit ? 0.0F : (std::clamp(xi, -limit, limit) + 1.0F) * slope;
    });
    map_alike(context_, "clamped_gate_backward", dx, gate, x, [limit](float gi, float xi) {
      const float c = std::min(gi, limit);
      return xi < -limit || xi > limit ? 0.0F : c * open(c);
    });
    multiply(dgate, dgate, g);
    multiply(dx, dx, g);
  }
  void fused_backward(Tensor& dx, const Tensor& g, const Tensor& y, Fused f) override {
    const auto map_gradient = [&](const auto& gradient) {
      map_alike(context_, "fused_backward", dx, g, y, gradient);
    };
    switch (f) {
      case Fused::None:
        return map_gradient([](float gi, float) { return gi; });
      case Fused::Relu:
        return map_gradient([](float gi, float yi) { return yi > 0.0F ? gi : 0.0F; });
      case Fused::Tanh:
        return map_gradient([](float gi, float yi) { return gi * (1.0F - yi * yi); });
    }
  }

 private:
  void multiply(Tensor& y, const Tensor& a, const Tensor& b) {
    map_alike(context_, "gated", y, a, b, [](float ai, float bi) { return ai * bi; });
  }
};

}  // namespace

std::unique_ptr<ActivationOps> cpu_activation_ops(CpuContext& context) {
  return std::make_unique<CpuActivation>(context);
}

}  // namespace penstock
