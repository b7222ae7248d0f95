// kernels/counting/expert_ops.cpp -- mixtures of experts. Where rows go is not known here, but how
// many products that makes is: every slot is one row of one expert, so what is counted are the
// experts that work (the active ones), not all. Weights are read whole.
#include <vector>

#include "kernels/counting/tally.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {
namespace {

class CountingExperts final : public ExpertOps {
 public:
  explicit CountingExperts(Tally& tally) : tally_(tally) {}

  void route(const Routing& routing, Tensor& weights, const Tensor& logits,
             const Tensor& /*correction*/, const Router& /*router*/) override {
    const RoutingSizes sizes = routing_sizes("route", routing);
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

  void grouped_forward(Tensor& y, const Tensor& x, const Weight& w,
                       const Tensor& offsets) override {
    const Widened copies(tally_, {&x, &y}, w.value());
    count(grouped_sizes("grouped forward", y, x, w.value(), offsets), {&y, &x, &w.value()});
  }
  void grouped_backward_input(Tensor& dx, const Tensor& g, const Weight& w,
                              const Tensor& offsets) override {
    const Widened copies(tally_, {&g, &dx}, w.value());
    count(grouped_sizes("grouped backward input", g, dx, w.value(), offsets),
          {&dx, &g, &w.value()});
  }
  void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g, const Tensor& offsets,
                               bool accumulate) override {
    const Widened copies(tally_, {&x, &g}, dw);
    count(grouped_sizes("grouped backward weight", g, x, dw, offsets),
          {&dw, accumulate ? &dw : nullptr, &x, &g});
  }

  void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) override {
    tally_.pass(elements(x), {&y, &x, &gate});
  }
  void gate_rows_backward(Tensor& dx, Tensor& dgate, const Tensor& g, const Tensor& x,
                          const Tensor& gate) override {
    tally_.pass(3 * elements(x), {&dx, &dgate, &g, &x, &gate});
  }

 private:
  // The fp32 copies of bf16 rows, and of one expert's weights, that kernels/cpu/experts.cpp makes.
  class Widened {
   public:
    Widened(Tally& tally, std::initializer_list<const Tensor*> rows, const Tensor& weights) {
      if (!tally.model().packs_filters) return;
      for (const Tensor* t : rows) {
        if (t->dtype() == DType::BF16) add(tally, t->elements(), elements(*t));
      }
      if (weights.dtype() != DType::BF16) return;
      add(tally, weights.elements() / weights.dim(0), elements(weights));
    }

   private:
    void add(Tally& tally, int64_t held, double converted) {
      copies_.push_back(tally.scratch(held, DType::F32));
      tally.convert(converted);
    }
    std::vector<Tensor> copies_;
  };

  void count(const GroupedSizes& sizes, Tally::Operands operands) {
    const double flops = 2.0 * static_cast<double>(sizes.rows) * static_cast<double>(sizes.in) *
                         static_cast<double>(sizes.out);
    // In fp32 on every device, whatever the type of the rows.
    tally_.product_as_is(ProductKind::Linear, flops, DType::F32, operands);
  }

  Tally& tally_;
};

}  // namespace

std::unique_ptr<ExpertOps> counting_expert_ops(Tally& tally) {
  return std::make_unique<CountingExperts>(tally);
}

}  // namespace penstock
