// kernels/ops/activation.h -- activation functions, alone and as gates, and their gradients.
// Inputs and outputs are fp32 or bf16 and share one dtype; computed in fp32.
#pragma once

#include <cstdint>

#include "kernels/ops/dense.h"
#include "kernels/tensor.h"

namespace penstock {

// Gelu is the exact one, GeluTanh its approximation by tanh.
enum class Activation : uint8_t { Relu, Gelu, GeluTanh, Silu, Tanh };

class ActivationOps {
 public:
  virtual ~ActivationOps() = default;

  virtual void forward(Tensor& y, const Tensor& x, Activation f) = 0;  // y may be x
  virtual void backward(Tensor& dx, const Tensor& g, const Tensor& x,
                        Activation f) = 0;  // dx = g f'(x); dx may be g
  // y = f(gate) x, and the gradients of both (Dauphin et al. 2017, Shazeer 2020). y may be gate.
  virtual void gated_forward(Tensor& y, const Tensor& gate, const Tensor& x, Activation f) = 0;
  virtual void gated_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                              const Tensor& x, Activation f) = 0;
  // dx = g f'(.) from the OUTPUT y of a fused function; dx may be g.
  virtual void fused_backward(Tensor& dx, const Tensor& g, const Tensor& y, Fused f) = 0;
};

}  // namespace penstock
