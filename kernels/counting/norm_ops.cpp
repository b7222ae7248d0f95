// kernels/counting/norm_ops.cpp -- norms: their time is the memory's; FLOPs are a few per element.
#include "kernels/counting/tally.h"

namespace penstock {
namespace {

// These FLOPs per element are rough estimates.
constexpr double kNormForward = 7;  // two sums, centring, scaling, weight and bias
constexpr double kNormBackward = 12;
constexpr double kRmsForward = 4;  // a sum of squares, scaling, weight
constexpr double kRmsBackward = 8;

class CountingRowNorm final : public Counted<RowNormOps> {
 public:
  using Counted::Counted;

  void layer_norm_forward(Tensor& y, Tensor& mean, Tensor& rstd, const Tensor& x,
                          const Tensor& gamma, const Tensor& beta, float /*epsilon*/) override {
    tally_.pass(kNormForward * elements(x), {&y, &mean, &rstd, &x, &gamma, beta ? &beta : nullptr});
  }
  void layer_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& mean,
                                 const Tensor& rstd, const Tensor& gamma) override {
    tally_.pass(kNormBackward * elements(x), {&dx, &g, &x, &mean, &rstd, &gamma});
  }
  void layer_norm_backward_weight(Tensor& dgamma, Tensor& dbeta, const Tensor& g, const Tensor& x,
                                  const Tensor& mean, const Tensor& rstd) override {
    const Tensor* const shift = dbeta ? &dbeta : nullptr;
    tally_.pass(4 * elements(x), {&dgamma, &dgamma, shift, shift, &g, &x, &mean, &rstd});
  }

  void rms_norm_forward(Tensor& y, Tensor& rstd, const Tensor& x, const Tensor& gamma,
                        float /*offset*/, float /*epsilon*/) override {
    tally_.pass(kRmsForward * elements(x), {&y, &rstd, &x, &gamma});
  }
  void rms_norm_backward_input(Tensor& dx, const Tensor& g, const Tensor& x, const Tensor& rstd,
                               const Tensor& gamma, float /*offset*/) override {
    tally_.pass(kRmsBackward * elements(x), {&dx, &g, &x, &rstd, &gamma});
  }
  void rms_norm_backward_weight(Tensor& dgamma, const Tensor& g, const Tensor& x,
                                const Tensor& rstd) override {
    tally_.pass(3 * elements(x), {&dgamma, &dgamma, &g, &x, &rstd});
  }
};

class CountingBatchNorm final : public Counted<BatchNormOps> {
 public:
  using Counted::Counted;

  // The statistics need one more pass over x, so x is listed twice. The sums of backward() need one
  // more pass over g and x, so both of these are listed twice.
  void forward(Tensor& y, Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
               const Tensor& gamma, const Tensor& beta, float /*epsilon*/) override {
    tally_.pass(kNormForward * elements(x), {&y, &mean, &rstd, &sums, &x, &x, &gamma, &beta});
  }
  void moments(Tensor& mean, Tensor& variance, const Tensor& sums, double /*positions*/) override {
    tally_.pass(2 * elements(sums), {&mean, &variance, &sums});
  }
  void inference(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& variance,
                 const Tensor& gamma, const Tensor& beta, float /*epsilon*/) override {
    tally_.pass(4 * elements(x), {&y, &x, &mean, &variance, &gamma, &beta});
  }
  void backward(Tensor& dx, Tensor& dparameters, const Tensor& g, const Tensor& x,
                const Tensor& mean, const Tensor& rstd, const Tensor& gamma) override {
    tally_.pass(kNormBackward * elements(x),
                {&dx, &dparameters, &g, &g, &x, &x, &mean, &rstd, &gamma});
  }
  void statistics(Tensor& mean, Tensor& rstd, Tensor& sums, const Tensor& x,
                  float /*epsilon*/) override {
    tally_.pass(3 * elements(x), {&mean, &rstd, &sums, &x});
  }
  void apply(Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& rstd,
             const Tensor& gamma, const Tensor& beta) override {
    tally_.pass(4 * elements(x), {&y, &x, &mean, &rstd, &gamma, &beta});
  }
  void gradients(Tensor& dparameters, const Tensor& g, const Tensor& x, const Tensor& mean,
                 const Tensor& rstd) override {
    tally_.pass(4 * elements(x), {&dparameters, &g, &x, &mean, &rstd});
  }
  void backward_input(Tensor& dx, const Tensor& dparameters, int64_t /*positions*/, const Tensor& g,
                      const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& gamma) override {
    tally_.pass(8 * elements(x), {&dx, &dparameters, &g, &x, &mean, &rstd, &gamma});
  }
};

}  // namespace

std::unique_ptr<RowNormOps> counting_row_norm_ops(Tally& tally) {
  return std::make_unique<CountingRowNorm>(tally);
}
std::unique_ptr<BatchNormOps> counting_batch_norm_ops(Tally& tally) {
  return std::make_unique<CountingBatchNorm>(tally);
}

}  // namespace penstock
