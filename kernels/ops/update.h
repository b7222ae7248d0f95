// kernels/ops/update.h -- the arithmetic of optimizers on flat fp32 tensors of equal size. One step
// over w (weights) with g (gradient, not changed) and the state tensors (changed).
// `scale` multiplies every gradient first: the clipping factor.
#pragma once

#include "kernels/tensor.h"

namespace penstock {

struct SgdStep {
  float learning_rate, momentum, weight_decay, scale;
  bool nesterov;
};
struct RmsPropStep {  // the AmoebaNet form: epsilon inside the root, momentum on the update
  float learning_rate, decay, momentum, epsilon, weight_decay, scale;
};
struct AdamStep {
  float learning_rate, beta1, beta2, epsilon, weight_decay, scale;
  bool decoupled;  // true: AdamW, w -= learning_rate * weight_decay * w; false: g += weight_decay w
  int64_t step;    // 1 for the first step: bias correction
};

class UpdateOps {
 public:
  virtual ~UpdateOps() = default;

  // g' = scale g + weight_decay w; v = momentum v + g'; w -= lr (nesterov ? g' + momentum v : v).
  // velocity may be null when momentum is 0.
  virtual void sgd(Tensor& w, Tensor* velocity, const Tensor& g, const SgdStep& step) = 0;
  // g' = scale g + weight_decay w; s = decay s + (1 - decay) g'^2;
  // m = momentum m + lr g' / sqrt(s + epsilon); w -= m. moment may be null when momentum is 0.
  virtual void rmsprop(Tensor& w, Tensor& square, Tensor* moment, const Tensor& g,
                       const RmsPropStep& step) = 0;
  // Kingma & Ba 2015; decoupled as Loshchilov & Hutter 2019.
  virtual void adam(Tensor& w, Tensor& first, Tensor& second, const Tensor& g,
                    const AdamStep& step) = 0;
  // average = decay average + (1 - decay) w
  virtual void moving_average(Tensor& average, const Tensor& w, float decay) = 0;
  // result (F64 [1]) = sum of squares, summed in an order that depends on the size alone.
  virtual void sum_of_squares(Tensor& result, const Tensor& x) = 0;
};

}  // namespace penstock
