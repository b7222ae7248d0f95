// kernels/ops/activation.h -- activation functions, alone and as gates, and their gradients.
// Inputs and outputs are fp32 or bf16 and share one dtype; computed in fp32.
#pragma once

#include <cstdint>

#include "kernels/ops/dense.h"
#include "kernels/tensor.h"

namespace penstock {

// Gelu is the exact one, GeluTanh its approximation by tanh.
enum class Activation : uint8_t { Relu, Gelu, GeluTanh, Silu, Tanh };

inline constexpr float kClampedGateSteepness = 1.702F;

class ActivationOps {
 public:
  virtual ~ActivationOps() = default;

  // All tensors of a call have the same number of elements. Results are overwritten; g is the
  // gradient of y.

  virtual void forward(Tensor& y, const Tensor& x, Activation f) = 0;  // y = f(x); y may be x
  virtual void backward(Tensor& dx, const Tensor& g, const Tensor& x,
                        Activation f) = 0;  // dx = g f'(x); dx may be g
  // y = f(gate) x (Dauphin et al. 2017, Shazeer 2020); y may be gate. The backward writes dgate = g
  // x f'(gate) and dx = g f(gate), which must be tensors of their own.
  virtual void gated_forward(Tensor& y, const Tensor& gate, const Tensor& x, Activation f) = 0;
  virtual void gated_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                              const Tensor& x, Activation f) = 0;
  // The gate of gpt-oss (2025): y = (u + 1) c sigmoid(1.702 c), where c is the gate, at most
  // `limit`, and u is x, in [-limit, limit]. y may be gate; dgate and dx must be tensors of their
  // own. Numbers beyond the limits have no gradient.
  virtual void clamped_gate_forward(Tensor& y, const Tensor& gate, const Tensor& x,
                                    float limit) = 0;
  virtual void clamped_gate_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                                     const Tensor& x, float limit) = 0;
  // dx = g f'(z), where z is the argument of a function that was fused into a product: computed
  // from the OUTPUT y = f(z), since z was not kept. dx may be g.
  virtual void fused_backward(Tensor& dx, const Tensor& g, const Tensor& y, Fused f) = 0;
};

}  // namespace penstock
