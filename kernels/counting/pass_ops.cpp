// kernels/counting/pass_ops.cpp -- the families that pass over their operands once: element
// by element, norms, layout, tokens, updates. Their time is the memory's; FLOPs are a few per
// element.
#include "kernels/counting/tally.h"

namespace penstock {
namespace {

// These FLOPs per element are rough estimates.
constexpr double kSmooth = 8;  // an exp or a tanh, and the arithmetic around it
constexpr double kCrossEntropy = 5;
constexpr double kNormForward = 7;  // two sums, centring, scaling, weight and bias
constexpr double kNormBackward = 12;
constexpr double kRmsForward = 4;  // a sum of squares, scaling, weight
constexpr double kRmsBackward = 8;

class CountingActivation final : public Counted<ActivationOps> {
 public:
  using Counted::Counted;

  void forward(Tensor& y, const Tensor& x, Activation f) override {
    const double flops = cost_of(f) * elements(y);
    const Tensor wide = tally_.widened(x);
    if (!wide) return tally_.pass(flops, {&y, &x});
    tally_.pass(flops, {&wide, &wide});
    tally_.convert(elements(y));
  }
  void backward(Tensor& dx, const Tensor& g, const Tensor& x, Activation f) override {
    const double flops = cost_of(f) * elements(dx);
    const Tensor wide_g = tally_.widened(g);
    const Tensor wide_x = tally_.widened(x);
    if (!wide_g) return tally_.pass(flops, {&dx, &g, &x});
    tally_.pass(flops, {&wide_g, &wide_g, &wide_x});
    tally_.convert(elements(dx));
  }
  // A device that fuses ops computes a gate in one pass; the CPU makes a pass for each op of the
  // gate.
  void gated_forward(Tensor& y, const Tensor& gate, const Tensor& x, Activation f) override {
    if (!in_parts()) return tally_.pass((cost_of(f) + 1) * elements(y), {&y, &gate, &x});
    forward(y, gate, f);
    multiply(y, y, x);
  }
  void gated_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                      const Tensor& x, Activation f) override {
    if (!in_parts()) {
      return tally_.pass((2 * cost_of(f) + 2) * elements(dx), {&dgate, &dx, &g, &gate, &x});
    }
    forward(dx, gate, f);
    multiply(dx, dx, g);
    multiply(dgate, g, x);
    backward(dgate, dgate, gate, f);
  }
  void clamped_gate_forward(Tensor& y, const Tensor& gate, const Tensor& x,
                            float /*limit*/) override {
    tally_.pass((kSmooth + 4) * elements(y), {&y, &gate, &x});
  }
  void clamped_gate_backward(Tensor& dgate, Tensor& dx, const Tensor& g, const Tensor& gate,
                             const Tensor& x, float /*limit*/) override {
    const double flops = (2 * kSmooth + 4) * elements(dx);
    if (!in_parts()) return tally_.pass(flops, {&dgate, &dx, &g, &gate, &x});
    tally_.pass(flops, {&dgate, &gate, &x, &dx, &gate, &x});
    multiply(dgate, dgate, g);
    multiply(dx, dx, g);
  }
  void fused_backward(Tensor& dx, const Tensor& g, const Tensor& y, Fused /*f*/) override {
    tally_.pass(3 * elements(dx), {&dx, &g, &y});
  }

 private:
  [[nodiscard]] bool in_parts() const { return tally_.model().packs_filters; }
  static double cost_of(Activation f) { return f == Activation::Relu ? 1 : kSmooth; }
  void multiply(Tensor& y, const Tensor& a, const Tensor& b) {
    tally_.pass(elements(y), {&y, &a, &b});
  }
};

class CountingPointwise final : public Counted<PointwiseOps> {
 public:
  using Counted::Counted;

  void add(Tensor& y, const Tensor& a, const Tensor& b) override {
    tally_.pass(elements(y), {&y, &a, &b});
  }
  void multiply(Tensor& y, const Tensor& a, const Tensor& b) override {
    tally_.pass(elements(y), {&y, &a, &b});
  }
  void accumulate(Tensor& y, const Tensor& a) override { tally_.pass(elements(y), {&y, &y, &a}); }
  void scale(Tensor& y, const Tensor& a, float /*factor*/) override {
    tally_.pass(elements(y), {&y, &a});
  }
  void add_broadcast(Tensor& y, const Tensor& a, const Tensor& b) override {
    tally_.pass(elements(y), {&y, &a, &b});
  }
  void add_broadcast_backward(Tensor& db, const Tensor& g) override {
    tally_.pass(elements(g), {&db, &db, &g});
  }
  void dropout(Tensor& y, const Tensor& x, float /*rate*/,
               const RandomStream& /*stream*/) override {
    tally_.pass(2 * elements(y), {&y, &x});
  }
  void dropout_rows(Tensor& y, const Tensor& x, float /*rate*/, const RandomStream& /*stream*/,
                    int64_t /*first*/) override {
    tally_.pass(elements(y), {&y, &x});
  }
  void fill(Tensor& y, float /*value*/) override { tally_.pass(0, {&y}); }
  void copy(Tensor& y, const Tensor& x) override { tally_.pass(0, {&y, &x}); }
  void checksum(Tensor& sum, const Tensor& x) override { tally_.pass(0, {&sum, &x}); }
};

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

class CountingLayout final : public Counted<LayoutOps> {
 public:
  using Counted::Counted;

  void concat(Tensor& y, std::span<const Tensor> /*parts*/, int /*axis*/) override {
    tally_.pass(0, {&y, &y});
  }
  void split(std::span<Tensor> /*parts*/, const Tensor& x, int /*axis*/) override {
    tally_.pass(0, {&x, &x});
  }
  void transpose(Tensor& y, const Tensor& x, std::span<const int> /*order*/) override {
    tally_.pass(0, {&y, &x});
  }
  void put_rows(Tensor& /*y*/, const Tensor& x, const Tensor& rows) override {
    tally_.pass(0, {&x, &x, &rows});
  }
};

class CountingToken final : public Counted<TokenOps> {
 public:
  using Counted::Counted;

  // The op reads as many rows of the table as there are ids. These rows are about as long as y, so
  // y is listed twice.
  void embedding_forward(Tensor& y, const Tensor& ids, const Tensor& /*table*/) override {
    tally_.pass(0, {&y, &y, &ids});
  }
  void embedding_backward(Tensor& /*dtable*/, const Tensor& ids, const Tensor& g) override {
    tally_.pass(elements(g), {&g, &g, &g, &ids});
  }
  void packed_places(Tensor& places, const Tensor& starts) override {
    tally_.pass(elements(starts), {&places, &starts});
  }
  void cross_entropy_forward(Tensor& result, Tensor& logsumexp, const Tensor& logits,
                             const Tensor& /*labels*/, const CrossEntropyOptions& /*options*/,
                             int64_t /*first_row*/) override {
    const int64_t rows = logits.shape().rows();
    const Tensor losses = tally_.scratch(rows, DType::F64);
    const Tensor hits = tally_.scratch(rows, DType::I32);
    const Tensor of_rows = logsumexp.view(0, {rows});
    tally_.pass(kCrossEntropy * elements(logits), {&result, &of_rows, &logits, &of_rows});
  }
  void cross_entropy_backward(Tensor& dlogits, const Tensor& logits, const Tensor& /*labels*/,
                              const Tensor& logsumexp, float /*scale*/,
                              const CrossEntropyOptions& /*options*/,
                              int64_t /*first_row*/) override {
    const Tensor of_rows = logsumexp.view(0, {logits.shape().rows()});
    tally_.pass(kCrossEntropy * elements(logits), {&dlogits, &logits, &of_rows, &of_rows});
  }
};

class CountingUpdate final : public Counted<UpdateOps> {
 public:
  using Counted::Counted;

  void sgd(std::span<const SgdTensors> all, const SgdStep& /*step*/) override {
    for (const SgdTensors& t : all) {
      tally_.pass(6 * elements(t.weight),
                  {&t.weight, &t.weight, some(t.velocity), some(t.velocity), &t.gradient});
    }
  }
  void rmsprop(std::span<const RmsPropTensors> all, const RmsPropStep& /*step*/) override {
    for (const RmsPropTensors& t : all) {
      tally_.pass(12 * elements(t.weight), {&t.weight, &t.weight, &t.square, &t.square,
                                            some(t.moment), some(t.moment), &t.gradient});
    }
  }
  void adam(std::span<const AdamTensors> all, const AdamStep& /*step*/) override {
    for (const AdamTensors& t : all) {
      tally_.pass(14 * elements(t.weight),
                  {&t.weight, &t.weight, &t.first, &t.first, &t.second, &t.second, &t.gradient});
    }
  }
  void lion(std::span<const LionTensors> all, const LionStep& /*step*/) override {
    for (const LionTensors& t : all) {
      tally_.pass(11 * elements(t.weight), {&t.weight, &t.weight, &t.mean, &t.mean, &t.gradient});
    }
  }
  void moving_average(std::span<const AverageTensors> all, float /*decay*/) override {
    for (const AverageTensors& t : all) {
      tally_.pass(3 * elements(t.weight), {&t.average, &t.average, &t.weight});
    }
  }
  void squares_by_block(Tensor& results, std::span<const Tensor> all) override {
    int64_t at = 0;
    for (const Tensor& x : all) {
      const int64_t blocks = squares_blocks(x.elements());
      const Tensor sums = results.view(at, {blocks});
      tally_.pass(2 * elements(x), {&sums, &x});
      at += blocks;
    }
  }
  void adafactor_change(Tensor& change, const Tensor& gradient, const Tensor& rows,
                        const Tensor& columns, const Tensor& mean, float /*scale*/) override {
    tally_.pass(6 * elements(change), {&change, &gradient, &rows, some(columns), some(mean)});
  }
  void adafactor_move(Tensor& weight, const Tensor& change, const Tensor& weight_squares,
                      const Tensor& change_squares, const AdafactorMove& /*move*/) override {
    tally_.pass(4 * elements(weight),
                {&weight, &weight, &change, &weight_squares, &change_squares});
  }
  void divide_by_norm(Tensor& x, const Tensor& squares, float /*least*/) override {
    tally_.pass(elements(x), {&x, &x, &squares});
  }

 private:
  // Returns null for an empty tensor, which would otherwise count as one number.
  static const Tensor* some(const Tensor& t) { return t ? &t : nullptr; }
};

}  // namespace

void add_pass_ops(OpSet& ops, Tally& tally) {
  ops.row_norm = std::make_unique<CountingRowNorm>(tally);
  ops.batch_norm = std::make_unique<CountingBatchNorm>(tally);
  ops.activation = std::make_unique<CountingActivation>(tally);
  ops.pointwise = std::make_unique<CountingPointwise>(tally);
  ops.layout = std::make_unique<CountingLayout>(tally);
  ops.token = std::make_unique<CountingToken>(tally);
  ops.update = std::make_unique<CountingUpdate>(tally);
}

}  // namespace penstock
