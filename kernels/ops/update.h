// kernels/ops/update.h -- the arithmetic of optimizers on flat fp32 tensors. One call updates a
// list of parameters, for which a GPU has one launch. An entry of the list has a parameter w
// (changed in place), its gradient g (not changed) and its state (changed in place), all of one
// size. `scale` is the factor of gradient clipping: every gradient is multiplied by it first.
#pragma once

#include <span>

#include "kernels/tensor.h"

namespace penstock {

// Each rule has two structs: the tensors of one entry of the list, with its own weight decay, and
// the numbers of the step that all entries share.

struct SgdTensors {
  Tensor weight, velocity, gradient;  // velocity may be empty when momentum is 0
  float weight_decay = 0.0F;
};
struct SgdStep {
  float learning_rate, momentum, scale;
  bool nesterov;
};

struct RmsPropTensors {
  Tensor weight, square, moment, gradient;  // moment may be empty when momentum is 0
  float weight_decay = 0.0F;
};
struct RmsPropStep {  // TensorFlow's form: epsilon inside the root, momentum on the update
  float learning_rate, decay, momentum, epsilon, scale;
};

struct AdamTensors {
  Tensor weight, first, second, gradient;  // first, second: the moments
  float weight_decay = 0.0F;
};
struct AdamStep {
  float learning_rate, beta1, beta2, epsilon, scale;
  bool decoupled;  // true: AdamW, w -= learning_rate * weight_decay * w; false: g += weight_decay w
  int64_t step;    // 1 for the first step: bias correction
};

struct LionTensors {
  Tensor weight, mean, gradient;  // mean: of the gradients
  float weight_decay = 0.0F;
};
struct LionStep {
  float learning_rate, beta1, beta2, scale;
};

struct AdafactorMove {
  float learning_rate, weight_decay;  // their product is the share of w that is taken away
  float rate;                         // multiplies the change
};

struct AverageTensors {
  Tensor average, weight;  // the weight is not changed
};

// The number of elements whose squares squares_by_block() adds up to one number.
inline constexpr int64_t kSquaresBlock = 4096;
// The number of such blocks in a tensor, the last of which may be shorter.
[[nodiscard]] constexpr int64_t squares_blocks(int64_t elements) {
  return (elements + kSquaresBlock - 1) / kSquaresBlock;
}

inline constexpr float kAdafactorLeast = 0x1p-23F;   // e of adafactor_change()
inline constexpr double kAdafactorLeastSize = 1e-3;  // of a weight, in adafactor_move()

class UpdateOps {
 public:
  virtual ~UpdateOps() = default;

  // g' = scale g + weight_decay w; v = momentum v + g'; w -= lr (nesterov ? g' + momentum v : v).
  virtual void sgd(std::span<const SgdTensors> all, const SgdStep& step) = 0;
  // g' = scale g + weight_decay w; s = decay s + (1 - decay) g'^2;
  // m = momentum m + lr g' / sqrt(s + epsilon); w -= m.
  virtual void rmsprop(std::span<const RmsPropTensors> all, const RmsPropStep& step) = 0;
  // Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019):
  //   g' = scale g, with weight_decay w added unless `decoupled`;
  //   first = beta1 first + (1 - beta1) g'; second = beta2 second + (1 - beta2) g'^2;
  //   m = first / (1 - beta1^step); v = second / (1 - beta2^step);
  //   w -= lr m / (sqrt(v) + epsilon), and lr weight_decay w as well if `decoupled`.
  virtual void adam(std::span<const AdamTensors> all, const AdamStep& step) = 0;
  // Chen et al. 2023: g' = scale g; w -= lr (sign(beta1 mean + (1 - beta1) g') + weight_decay w);
  // mean = beta2 mean + (1 - beta2) g'. The sign of 0 is 0.
  virtual void lion(std::span<const LionTensors> all, const LionStep& step) = 0;
  // Adafactor (Shazeer & Stern 2018) in PyTorch's form, in two halves, for one parameter at a time.
  // The first overwrites `change`, which has the size of g, with
  //   change[i, j] = scale g[i, j] / sqrt(max(rows[i] columns[j] / max(mean, e), e^2)),
  // where `rows` and `columns` are second moments of the rows and columns of a matrix, `mean` [1]
  // is the mean of `rows`, and e is kAdafactorLeast. For a parameter that is no matrix, `columns`
  // and `mean` are empty and `rows` has the size of g:
  //   change[i] = scale g[i] / sqrt(max(rows[i], e^2)).
  virtual void adafactor_change(Tensor& change, const Tensor& gradient, const Tensor& rows,
                                const Tensor& columns, const Tensor& mean, float scale) = 0;
  // The second half: w -= learning_rate weight_decay w
  //   + rate max(kAdafactorLeastSize, rms of w) / max(1, rms of change) change.
  // The root mean squares are those before this call, from what squares_by_block() wrote for the
  // weight and for the change.
  virtual void adafactor_move(Tensor& weight, const Tensor& change, const Tensor& weight_squares,
                              const Tensor& change_squares, const AdafactorMove& move) = 0;
  // average = decay average + (1 - decay) w
  virtual void moving_average(std::span<const AverageTensors> all, float decay) = 0;
  // Overwrites `results` (F64) with the sums of squares of blocks of kSquaresBlock elements: first
  // the squares_blocks() sums of the first tensor, in order, then those of the next one. A rank
  // that adds up a tensor's sums in order thus has the same bits as one that received some of them
  // from other ranks.
  virtual void squares_by_block(Tensor& results, std::span<const Tensor> all) = 0;
  // x /= max(norm of x, least), where `squares` holds the sums that squares_by_block() made of x.
  virtual void divide_by_norm(Tensor& x, const Tensor& squares, float least) = 0;
};

}  // namespace penstock
