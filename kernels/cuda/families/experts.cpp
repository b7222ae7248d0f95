// kernels/cuda/families/experts.cpp -- mixtures of experts: checks of shapes before the kernels.
#include "kernels/cuda/families/experts.h"

namespace penstock {
namespace {

class CudaExperts final : public ExpertOps {
 public:
  explicit CudaExperts(CudaContext& context) : context_(context) {}

  void route(const Routing& routing, Tensor& weights, const Tensor& logits,
             const Tensor& correction, const Router& router) override {
    const RoutingSizes sizes = router_sizes("route", routing, logits, weights, router);
    if (correction) require_elements("route", correction, sizes.experts);
    penstock::route(context_, routing, weights, logits, correction, router, sizes);
  }
  void route_backward(Tensor& dlogits, const Tensor& dweights, const Tensor& weights,
                      const Tensor& logits, const Routing& routing, const Router& router) override {
    penstock::route_backward(context_, dlogits, dweights, weights, logits, routing, router,
                             router_sizes("route_backward", routing, dlogits, dweights, router));
  }
  void count_slots(Tensor& counts, const Tensor& offsets) override {
    (void)counted_experts("count_slots", counts, offsets);
    penstock::count_slots(context_, counts, offsets);
  }
  void balance(Tensor& correction, const Tensor& counts, float rate) override {
    require_alike("balance", correction, counts);
    penstock::balance(context_, correction, counts, rate);
  }
  void gather(Tensor& y, const Tensor& x, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("gather", routing);
    (void)slot_width("gather", sizes, x, y);
    gather_slots(context_, y, x, routing, sizes);
  }
  void gather_backward(Tensor& dx, const Tensor& g, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("gather_backward", routing);
    (void)slot_width("gather_backward", sizes, dx, g);
    add_slots(context_, dx, g, nullptr, routing, sizes);
  }
  void combine(Tensor& y, const Tensor& x, const Tensor& weights, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("combine", routing);
    (void)slot_width("combine", sizes, y, x);
    require_elements("combine", weights, sizes.slots());
    add_slots(context_, y, x, &weights, routing, sizes);
  }
  void combine_backward(Tensor& dx, Tensor& dweights, const Tensor& g, const Tensor& x,
                        const Tensor& weights, const Routing& routing) override {
    const RoutingSizes sizes = routing_sizes("combine_backward", routing);
    (void)slot_width("combine_backward", sizes, g, x);
    require_alike("combine_backward", dx, x);
    require_elements("combine_backward", dweights, sizes.slots());
    penstock::combine_backward(context_, dx, dweights, g, x, weights, routing, sizes);
  }
  void grouped_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor& offsets) override {
    penstock::grouped_forward(context_, y, x, w.value(), offsets,
                              grouped_sizes("grouped forward", y, x, w.value(), offsets));
  }
  void grouped_backward_input(Tensor& dx, const Tensor& g, Weight& w,
                              const Tensor& offsets) override {
    penstock::grouped_backward_input(
        context_, dx, g, w.value(), offsets,
        grouped_sizes("grouped backward input", g, dx, w.value(), offsets));
  }
  void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g, const Tensor& offsets,
                               bool accumulate) override {
    require_sum("grouped backward weight", dw);
    penstock::grouped_backward_weight(context_, dw, x, g, offsets, accumulate,
                                      grouped_sizes("grouped backward weight", g, x, dw, offsets));
  }
  void add_expert_bias(Tensor& y, const Tensor& bias, const Tensor& offsets) override {
    (void)expert_bias_width("add_expert_bias", y, bias, offsets);
    penstock::add_expert_bias(context_, y, bias, offsets);
  }
  void expert_bias_backward(Tensor& dbias, const Tensor& g, const Tensor& offsets) override {
    (void)expert_bias_width("expert_bias_backward", g, dbias, offsets);
    penstock::expert_bias_backward(context_, dbias, g, offsets);
  }
  void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) override {
    require_alike("gate_rows", y, x);
    require_elements("gate_rows", gate, x.shape().rows());
    penstock::gate_rows(context_, y, x, gate);
  }
  void gate_rows_backward(Tensor& dx, Tensor& dgate, const Tensor& g, const Tensor& x,
                          const Tensor& gate) override {
    require_alike("gate_rows_backward", dx, x);
    require_alike("gate_rows_backward", g, x);
    require_elements("gate_rows_backward", gate, x.shape().rows());
    penstock::gate_rows_backward(context_, dx, dgate, g, x, gate);
  }

 private:
  CudaContext& context_;
};

}  // namespace

std::unique_ptr<ExpertOps> cuda_expert_ops(CudaContext& context) {
  return std::make_unique<CudaExperts>(context);
}

}  // namespace penstock
