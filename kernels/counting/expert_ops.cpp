// kernels/counting/expert_ops.cpp -- mixtures of experts. Where rows go is not known here, but how
// many products that makes is: every slot is one row of one expert, so what is counted are the
// experts that work (the active ones), not all. Weights are read whole.
#include <algorithm>
#include <vector>

#include "kernels/counting/tally.h"
#include "kernels/cpu/experts/expert_pieces.h"
#include "kernels/cpu/experts/routing.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {
namespace {

class CountingExperts final : public Counted<ExpertOps> {
 public:
  using Counted::Counted;

  void route(const Routing& routing, Tensor& weights, const Tensor& logits,
             const Tensor& correction, const Router& router) override {
    const RoutingSizes sizes = routing_sizes("route", routing);
    Tensor room;
    if (!chosen_by_logits(correction, router)) {
      room = tally_.scratch(tally_.model().threads * sizes.experts, DType::F32);
    }
    tally_.pass(elements(logits) * static_cast<double>(sizes.chosen + 4),
                {&routing.chosen, &routing.order, &routing.places, &weights, &logits});
  }
  void route_backward(Tensor& dlogits, const Tensor& dweights, const Tensor& weights,
                      const Tensor& logits, const Routing& routing,
                      const Router& /*router*/) override {
    tally_.pass(8 * elements(logits), {&dlogits, &dweights, &weights, &logits, &routing.chosen});
  }

  void count_slots(Tensor& counts, const Tensor& offsets) override {
    tally_.pass(2 * elements(counts), {&counts, &counts, &offsets});
  }

  void balance(Tensor& correction, const Tensor& counts, float /*rate*/) override {
    tally_.pass(4 * elements(counts), {&correction, &correction, &counts});
  }

  void gather(Tensor& y, const Tensor& x, const Routing& routing) override {
    tally_.pass(0, {&y, &x, &routing.order});
  }
  void gather_backward(Tensor& dx, const Tensor& g, const Routing& routing) override {
    tally_.pass(elements(g), {&dx, &g, &routing.places});
  }
  void combine(Tensor& y, const Tensor& x, const Tensor& weights, const Routing& routing) override {
    tally_.pass(2 * elements(x), {&y, &x, &weights, &routing.places});
  }
  void combine_backward(Tensor& dx, Tensor& dweights, const Tensor& g, const Tensor& x,
                        const Tensor& weights, const Routing& routing) override {
    tally_.pass(3 * elements(x), {&dx, &dweights, &g, &x, &weights, &routing.places});
  }

  void grouped_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor& offsets) override {
    const GroupedSizes sizes = grouped_sizes("grouped forward", y, x, w.value(), offsets);
    const double weight_bytes = read(w, x.dtype());
    const auto scratch = cpu_scratch(LinearProduct::Forward, sizes, {&x}, &w.value());
    count(sizes, x.dtype(), {&y, &x}, weight_bytes);
  }
  void grouped_backward_input(Tensor& dx, const Tensor& g, Weight& w,
                              const Tensor& offsets) override {
    const GroupedSizes sizes = grouped_sizes("grouped backward input", g, dx, w.value(), offsets);
    const double weight_bytes = read(w, g.dtype());
    const auto scratch = cpu_scratch(LinearProduct::InputGradient, sizes, {&g}, &w.value());
    count(sizes, g.dtype(), {&dx, &g}, weight_bytes);
  }
  void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g, const Tensor& offsets,
                               bool accumulate) override {
    const GroupedSizes sizes = grouped_sizes("grouped backward weight", g, x, dw, offsets);
    const auto scratch = cpu_scratch(LinearProduct::WeightGradient, sizes, {&x, &g}, nullptr);
    count(sizes, x.dtype(), {&dw, accumulate ? &dw : nullptr, &x, &g}, 0);
  }

  void add_expert_bias(Tensor& y, const Tensor& bias, const Tensor& offsets) override {
    tally_.pass(elements(y), {&y, &y, &bias, &offsets});
  }
  void expert_bias_backward(Tensor& dbias, const Tensor& g, const Tensor& offsets) override {
    tally_.pass(elements(g), {&dbias, &dbias, &g, &offsets});
  }

  void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) override {
    tally_.pass(elements(x), {&y, &x, &gate});
  }
  void gate_rows_backward(Tensor& dx, Tensor& dgate, const Tensor& g, const Tensor& x,
                          const Tensor& gate) override {
    tally_.pass(3 * elements(x), {&dx, &dgate, &g, &x, &gate});
  }

 private:
  [[nodiscard]] bool on_cpu() const { return tally_.model().packs_filters; }
  // The type at whose speed the device multiplies numbers of that type. A GPU's kernel has bf16 on
  // tensor cores, but nobody has measured it: the speed of fp32 is a careful guess.
  [[nodiscard]] DType multiplied(DType type) const {
    return on_cpu() && !tally_.model().emulates_bf16 ? type : DType::F32;
  }
  // Returns the bytes of the weights that a product of such rows reads. The CPU's products of bf16
  // rows read a copy, which is made into the weight; a GPU rounds what it reads.
  double read(Weight& w, DType rows) {
    if (multiplied(rows) == DType::BF16) return tally_.read(w, rows).bytes;
    return static_cast<double>(w.value().size_bytes());
  }

  // The scratch memory of kernels/cpu/experts/grouped_products.cpp for a product of `rows`, which
  // the caller holds until it has been counted. `weights`: null where none are read.
  std::vector<Tensor> cpu_scratch(LinearProduct product, const GroupedSizes& sizes,
                                  std::initializer_list<const Tensor*> rows,
                                  const Tensor* weights) {
    std::vector<Tensor> held;
    if (!on_cpu()) return held;
    for (const Tensor* t : rows) held.push_back(tally_.widened(*t));
    const DType dtype = (*rows.begin())->dtype();
    const DType type = multiplied(dtype);
    if (weights != nullptr && weights->dtype() == DType::BF16 && type == DType::F32) {
      tally_.convert(elements(*weights));
      held.push_back(tally_.scratch(weights->elements() / sizes.experts, DType::F32));
    }
    held.push_back(
        tally_.scratch(tally_.model().threads * buffers(product, sizes, dtype).bytes(), DType::U8));
    // The library pads its copies to pairs and vectors, and adds up bf16 results in fp32.
    const auto padded = [](int64_t columns) { return (columns + 31) / 32 * 32; };
    const bool of_weight = product == LinearProduct::WeightGradient;
    const int64_t out = of_weight ? std::min(kGradientRows, sizes.out) : sizes.out;
    const int64_t height =
        product == LinearProduct::Forward ? kForwardHeights.front() : kBackwardHeights.front();
    held.push_back(tally_.library_scratch(
        linear_plan(product, {height, padded(sizes.in), padded(out), dtype})));
    if (product == LinearProduct::InputGradient && type == DType::BF16) {
      held.push_back(tally_.scratch(tally_.model().threads * height * 64, DType::F32));
    }
    return held;
  }

  // The buffers of a thread of the CPU for a product of rows of type `rows`.
  [[nodiscard]] PieceBuffers buffers(LinearProduct product, const GroupedSizes& sizes,
                                     DType rows) const {
    const DType type = multiplied(rows);
    if (product == LinearProduct::Forward) {
      return forward_buffers(sizes.in, sizes.out, static_cast<int64_t>(size_of(type)));
    }
    const bool of_inputs = product == LinearProduct::InputGradient;
    if (type == DType::F32) {
      return of_inputs && rows == DType::BF16 ? rounded_gradient_buffers(sizes.in) : PieceBuffers{};
    }
    return of_inputs ? input_gradient_buffers(sizes.in, sizes.out)
                     : weight_gradient_buffers(sizes.in, sizes.out);
  }

  void count(const GroupedSizes& sizes, DType rows, Tally::Operands operands, double weight_bytes) {
    const double flops = 2.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.in) *
                         static_cast<double>(sizes.out);
    tally_.product_as_is(ProductKind::Linear, flops, multiplied(rows), operands, weight_bytes);
  }
};

}  // namespace

void add_expert_ops(OpSet& ops, Tally& tally) {
  ops.experts = std::make_unique<CountingExperts>(tally);
}

}  // namespace penstock
