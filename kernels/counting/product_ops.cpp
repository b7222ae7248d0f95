// kernels/counting/product_ops.cpp -- the families that multiply matrices: dense, images (with
// pooling), attention. A product of r x in with in x out takes 2 r in out FLOPs; biases and fused
// functions are not counted beside it.
#include <vector>

#include "kernels/counting/tally.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/image/patches.h"
#include "kernels/cuda/attention/attention_cut.h"

namespace penstock {
namespace {

class CountingDense final : public Counted<DenseOps> {
 public:
  using Counted::Counted;

  void linear_forward(Tensor& /*y*/, const Tensor& x, Weight& w, const Tensor* bias,
                      Fused /*f*/) override {
    tally_.multiply(linear_plan(LinearProduct::Forward, extents(x, w.value())), &w, {bias});
  }
  void linear_backward_input(Tensor& dx, const Tensor& /*g*/, Weight& w) override {
    tally_.multiply(linear_plan(LinearProduct::InputGradient, extents(dx, w.value())), &w, {});
  }
  void linear_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              bool accumulate) override {
    tally_.multiply(linear_plan(LinearProduct::WeightGradient, extents(x, dw), accumulate), nullptr,
                    {});
    if (dbias != nullptr) linear_backward_bias(*dbias, g);
  }
  void linear_backward_bias(Tensor& dbias, const Tensor& g) override {
    tally_.bias_gradient(dbias, g);
  }
  bool fused_linear_activation(Tensor& y, Tensor& pre, const Tensor& x, Weight& w,
                               const Tensor* bias, Activation f) override {
    if (bias == nullptr || !fuses(f, y)) return false;
    fused(x, w, x.dtype(), {&y, &pre, &x, bias});
    return true;
  }
  bool fused_linear_activation_backward(Tensor& dpre, const Tensor& g, Weight& w, const Tensor& pre,
                                        Activation f) override {
    if (!fuses(f, dpre)) return false;
    fused(dpre, w, g.dtype(), {&dpre, &g, &pre});
    return true;
  }
  void matmul(Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
              bool accumulate) override {
    tally_.multiply(matmul_plan(c, a, b, transpose_a, transpose_b, accumulate), nullptr, {});
  }

 private:
  // The sizes and types of a linear layer. A gradient can be passed in place of x or of the weight,
  // because their sizes are the same.
  static LinearExtents extents(const Tensor& x, const Tensor& w) {
    return {x.shape().rows(), w.dim(1), w.dim(0), x.dtype(), w.dtype()};
  }
  // Counts a product of rows like `x` with the function that is computed inside it.
  void fused(const Tensor& x, Weight& w, DType dtype, Tally::Operands operands) {
    const Tally::WeightRead weight = tally_.read(w, dtype);
    tally_.product(ProductKind::Linear, 2 * elements(x) * static_cast<double>(w.shape()[0]), dtype,
                   operands, weight.bytes);
  }
  // Returns whether the device computes the function inside the product. The conditions are those
  // of kernels/cuda/dense/: bf16, rows of whole groups of eight, and no empty product.
  [[nodiscard]] bool fuses(Activation f, const Tensor& result) const {
    return tally_.model().fuses_gelu && f == Activation::GeluTanh &&
           result.dtype() == DType::BF16 && result.shape().back() % 8 == 0 && result.elements() > 0;
  }
};

class CountingImage final : public Counted<ImageOps> {
 public:
  using Counted::Counted;

  void conv2d_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias,
                      const Window& window, int groups, Fused f) override {
    if (is_linear(window, groups)) {
      return tally_.multiply(plan(LinearProduct::Forward, x, w.shape()), &w, {bias});
    }
    if (const auto products = by_patches(y, w.shape(), groups)) {
      return multiply_patches(*products, products->forward(), x, &y, bias);
    }
    ConvolutionPlan convolution = convolution_plan(x, y, window, groups);
    convolution.bias = bias != nullptr;
    convolution.fused = f;
    const Tally::WeightRead weight = tally_.read_filter(w, convolution, FilterUse::Forward);
    tally_.product(ProductKind::Convolution, flops(y, w.shape()), x.dtype(), {&y, &x, bias},
                   weight.bytes);
  }
  void conv2d_backward_input(Tensor& dx, const Tensor& g, Weight& w, const Window& window,
                             int groups) override {
    if (is_linear(window, groups)) {
      return tally_.multiply(plan(LinearProduct::InputGradient, dx, w.shape()), &w, {});
    }
    if (const auto products = by_patches(g, w.shape(), groups)) {
      return multiply_patches(*products, products->input_gradient(), dx, nullptr);
    }
    const Tally::WeightRead weight =
        tally_.read_filter(w, convolution_plan(dx, g, window, groups), FilterUse::InputGradient);
    tally_.product(ProductKind::Convolution, flops(g, w.shape()), g.dtype(), {&dx, &g},
                   weight.bytes);
  }
  void conv2d_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              const Window& window, int groups, bool accumulate) override {
    if (is_linear(window, groups)) {
      tally_.multiply(plan(LinearProduct::WeightGradient, x, dw.shape(), accumulate), nullptr, {});
    } else if (const auto products = by_patches(g, dw.shape(), groups)) {
      multiply_patches(*products, products->weight_gradient(accumulate), x, &g);
    } else {
      const Tensor between = tally_.filter_gradient(convolution_plan(x, g, window, groups));
      const Tensor* sum = accumulate ? &dw : nullptr;
      tally_.product(ProductKind::Convolution, flops(g, dw.shape()), x.dtype(), {&dw, sum, &x, &g});
    }
    if (dbias != nullptr) tally_.bias_gradient(*dbias, g);
  }

  void pool2d_forward(Tensor& y, Tensor* chosen, const Tensor& x, const Window& window,
                      Pool /*kind*/) override {
    tally_.pass(elements(y) * window.kernel_h * window.kernel_w, {&y, chosen, &x});
  }
  void pool2d_backward(Tensor& dx, const Tensor& g, const Tensor* chosen, const Window& window,
                       Pool /*kind*/) override {
    tally_.pass(elements(g) * window.kernel_h * window.kernel_w, {&dx, &g, chosen});
  }
  void global_average_forward(Tensor& y, const Tensor& x) override {
    tally_.pass(elements(x), {&y, &x});
  }
  void global_average_backward(Tensor& dx, const Tensor& g) override {
    tally_.pass(elements(dx), {&dx, &g});
  }
  void upsample2d_forward(Tensor& y, const Tensor& x, const Enlarging& enlarging) override {
    tally_.pass(elements(y) * operations(enlarging), {&y, &x});
  }
  void upsample2d_backward(Tensor& dx, const Tensor& g, const Enlarging& enlarging) override {
    tally_.pass(elements(g) * operations(enlarging), {&dx, &g});
  }

 private:
  // A pixel of the larger image is a copy, or the sum of four products.
  static double operations(const Enlarging& enlarging) {
    return enlarging.kind == Upsample::Nearest ? 1.0 : 7.0;
  }
  // The products that kernels/cpu/image/patches.cpp computes a convolution by, if it does.
  [[nodiscard]] std::optional<PatchProducts> by_patches(const Tensor& y, const Shape& filter,
                                                        int groups) const {
    return tally_.model().packs_filters ? patch_products(y, filter, groups) : std::nullopt;
  }
  // Counts one of the products, the pass that takes the patches from the images or adds them up
  // there, and the pass that transposes `turned`, if there is one.
  void multiply_patches(const PatchProducts& products, const MatmulPlan& plan, const Tensor& images,
                        const Tensor* turned, const Tensor* bias = nullptr) {
    const Tensor patches = tally_.scratch(products.positions * products.numbers, DType::F32);
    tally_.pass(0, {&images, &patches});
    Tensor copy;
    if (turned != nullptr) {
      copy = tally_.scratch(turned->elements(), DType::F32);
      tally_.pass(0, {turned, &copy});
    }
    tally_.multiply(plan, nullptr, {bias});
  }
  // The plan of a 1 x 1 convolution as a product of a linear layer, whose rows are the pixels of x.
  static MatmulPlan plan(LinearProduct product, const Tensor& x, const Shape& filter,
                         bool accumulate = false) {
    return linear_plan(product, {x.shape().rows(), filter[1], filter[0], x.dtype()}, accumulate);
  }
  // Returns the FLOPs of a convolution. Each element of y is a sum over its window and the input
  // channels of its group, and each term of the sum takes two FLOPs.
  static double flops(const Tensor& y, const Shape& weight) {
    return 2 * elements(y) * static_cast<double>(weight[1] * weight[2] * weight[3]);
  }
};

class CountingAttention final : public Counted<AttentionOps> {
 public:
  using Counted::Counted;

  void softmax_forward(Tensor& y, const Tensor& x) override {
    tally_.pass(kSoftmax * elements(x), {&y, &x});
  }
  void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) override {
    tally_.pass(kSoftmax * elements(y), {&dx, &g, &y});
  }
  void rotary(Tensor& y, const Tensor& x, const Tensor& table, const Tensor* places,
              RotaryPairs /*pairs*/, bool /*back*/) override {
    tally_.pass(3 * elements(x), {&y, &x, &table, places});
  }
  // Two products are counted: queries by keys, and probabilities by values. The matrix between the
  // two products never reaches the memory, so it adds no bytes.
  void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                         const Tensor& v, const AttentionMask& mask,
                         const AttentionOptions& options) override {
    const AttentionSizes sizes = attention_sizes("attention_forward", q, k, v, mask, options);
    const Scratch scratch(tally_, sizes, q.dtype(), mask, options, false);
    tally_.product_as_is(ProductKind::Attention,
                         2 * product(sizes, options) + per_score(options) * scores(sizes, options),
                         q.dtype(), {&out, &logsumexp, &q, &k, &v, mask.key_lengths, mask.starts});
  }
  // Five products are counted: the scores again, and the gradients of probabilities, values,
  // queries and keys.
  void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& out,
                          const Tensor& logsumexp, const AttentionMask& mask,
                          const AttentionOptions& options) override {
    const AttentionSizes sizes = attention_sizes("attention_backward", q, k, v, mask, options);
    const Scratch scratch(tally_, sizes, q.dtype(), mask, options, true);
    const Tensor workspace = fused_workspace(sizes, q.dtype(), mask, options);
    tally_.product_as_is(
        ProductKind::Attention,
        5 * product(sizes, options) + per_score(options) * scores(sizes, options), q.dtype(),
        {&dq, &dk, &dv, &g, &q, &k, &v, &out, &logsumexp, mask.key_lengths, mask.starts});
  }

  void add_sinks(Tensor& out, Tensor& logsumexp, const Tensor& sinks) override {
    tally_.pass(elements(out), {&out, &out, &logsumexp, &logsumexp, &sinks});
  }
  void sinks_backward(Tensor& dsinks, const Tensor& g, const Tensor& out, const Tensor& logsumexp,
                      const Tensor& sinks) override {
    tally_.pass(2 * elements(out), {&dsinks, &g, &out, &logsumexp, &sinks});
  }

 private:
  static constexpr double kSoftmax = 5;  // per score: maximum, difference, exp, sum, quotient
  static constexpr double kSoftcap = 3;  // per score: quotient, tanh, product
  static double per_score(const AttentionOptions& options) {
    return kSoftmax + (options.softcap > 0.0F ? kSoftcap : 0.0);
  }

  // Takes the scratch memory of kernels/cpu/attention/tiled_attention.h: scores (and their
  // gradients) in fp32, narrowed copies of them, panels of q (and g), k and v, and fp32 sums of the
  // key gradients. If bf16 is emulated, this also takes the fp32 copies of the products' operands,
  // and counts the passes that make these copies.
  struct Scratch {
    Scratch(Tally& tally, const AttentionSizes& sizes, DType dtype, const AttentionMask& mask,
            const AttentionOptions& options, bool backward) {
      const AttentionGrid grid =
          attention_grid(sizes, options.causal, mask.starts != nullptr, tally.model().threads);
      const bool narrow = dtype != DType::F32;
      const int blocks = backward ? 2 : 1;
      wide = tally.scratch(blocks * grid.block(sizes), DType::F32);
      if (narrow) narrowed = tally.scratch(blocks * grid.block(sizes), dtype);
      panels = tally.scratch(blocks * grid.query_panel(sizes) + 2 * grid.key_panel(sizes), dtype);
      if (backward) sums = tally.scratch(2 * grid.key_panel(sizes), DType::F32);
      if (!narrow || !tally.model().emulates_bf16) return;
      AttentionSizes some = sizes;  // all heads and samples have tiles like these
      some.batch = grid.samples;
      some.kv_heads = grid.heads;
      some.heads = grid.heads * sizes.group();
      int64_t copied = 0;
      OperandPlan largest{};
      const auto held = [](const OperandPlan& p) {
        return p.a.elements + p.b.elements + p.c.elements;
      };
      for_tiles(some, grid, attention_view(sizes, options), [&](const AttentionTile& tile) {
        AttentionProducts{sizes, dtype}.for_all(tile, 1.0F, backward, [&](const MatmulPlan& plan) {
          const OperandPlan operands = plan_operands(plan, tally.operand_facts());
          copied += operands.a.copied + operands.b.copied + operands.c.copied;
          if (held(operands) > held(largest)) largest = operands;
        });
      });
      for (const OperandCopy& operand : {largest.a, largest.b, largest.c}) {
        widened.push_back(tally.scratch(operand.elements, DType::F32));
      }
      const int64_t repeats = (sizes.batch / grid.samples) * (sizes.kv_heads / grid.heads);
      tally.convert(static_cast<double>(copied) * static_cast<double>(repeats));
    }
    Tensor wide, narrowed, panels, sums;
    std::vector<Tensor> widened;
  };

  // Returns as much workspace as kernels/cuda/attention/cudnn_attention.cpp takes for a piece of a
  // backward, or an empty tensor if that file refuses the call.
  [[nodiscard]] Tensor fused_workspace(const AttentionSizes& sizes, DType dtype,
                                       const AttentionMask& mask, const AttentionOptions& options) {
    AttentionExtents extents{.samples = sizes.batch,
                             .queries = sizes.queries,
                             .keys = sizes.keys,
                             .depth = sizes.depth,
                             .heads = sizes.heads,
                             .all_heads = sizes.heads,
                             .kv_heads = sizes.kv_heads,
                             .all_kv_heads = sizes.kv_heads,
                             .causal = options.causal,
                             .window = options.window < sizes.keys ? options.window : 0,
                             .lengths = mask.key_lengths != nullptr,
                             .capped = options.softcap > 0.0F,
                             .dropout = options.dropout};
    const bool fused = tally_.model().fuses_attention &&
                       why_not_fused(extents, dtype, mask.starts != nullptr) == nullptr;
    if (!fused) return {};
    const AttentionCut cut =
        cut_attention(sizes.batch, sizes.kv_heads, {}, [&](int64_t samples, int64_t kv_heads) {
          extents.samples = samples;
          extents.kv_heads = kv_heads;
          extents.heads = kv_heads * sizes.group();
          return hopper_workspace_bytes(extents);
        });
    return cut.possible() ? tally_.workspace(cut.workspace_bytes, DType::U8) : Tensor{};
  }

  // Returns the number of scores that are computed. A causal mask leaves half of the scores; a
  // window leaves each query at most as many keys as the window is wide.
  static double scores(const AttentionSizes& sizes, const AttentionOptions& options) {
    const auto queries = static_cast<double>(sizes.queries);
    const auto keys = static_cast<double>(sizes.keys);
    const double rows = static_cast<double>(sizes.batch * sizes.heads) * queries;
    double seen = options.causal ? keys / 2 : keys;
    if (options.window > 0 && options.window < sizes.keys) {
      const auto window = static_cast<double>(options.window);
      seen = options.causal ? window * (1 - window / (2 * keys)) : window;
    }
    return rows * seen;
  }
  static double product(const AttentionSizes& sizes, const AttentionOptions& options) {
    return 2 * scores(sizes, options) * static_cast<double>(sizes.depth);
  }
};

}  // namespace

void add_product_ops(OpSet& ops, Tally& tally) {
  ops.dense = std::make_unique<CountingDense>(tally);
  ops.image = std::make_unique<CountingImage>(tally);
  ops.attention = std::make_unique<CountingAttention>(tally);
}

}  // namespace penstock
