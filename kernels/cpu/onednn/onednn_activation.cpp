// kernels/cpu/onednn/onednn_activation.cpp -- activations by oneDNN: dense arrays, element by
// element.
#include "kernels/cpu/onednn/onednn_state.h"

namespace penstock {
namespace {

Prepared make_activation(OneDnn::State& state, const ActivationPlan& plan) {
  const dnnl_api::Desc data({plan.elements}, library_type(plan.type), dnnl::memory::format_tag::a);
  const dnnl::algorithm algorithm = library_algorithm(plan.f);
  const float alpha = plan.f == Activation::Silu ? 1.0F : 0.0F;  // swish is x sigmoid(alpha x)
  try {
    const auto forward =
        dnnl_api::eltwise_forward(state.engine, algorithm, data, alpha, new_attributes());
    if (!plan.backward) {
      return {state,
              std::type_identity<dnnl::eltwise_forward>{},
              forward,
              {{DNNL_ARG_DST, data}, {DNNL_ARG_SRC, data}}};
    }
    const auto backward =
        dnnl_api::eltwise_backward(state.engine, algorithm, data, alpha, forward, new_attributes());
    return {state,
            std::type_identity<dnnl::eltwise_backward>{},
            backward,
            {{DNNL_ARG_DIFF_SRC, data}, {DNNL_ARG_DIFF_DST, data}, {DNNL_ARG_SRC, data}}};
  } catch (const dnnl::error& error) {
    fail_library("an activation of " + std::to_string(plan.elements) + " " + name_of(plan.type) +
                     " elements",
                 error);
  }
}

}  // namespace

size_t PlanHash::operator()(const ActivationPlan& plan) const {
  return hash_fields(2, plan.elements, plan.type, plan.f, plan.backward);
}

void OneDnn::activation_forward(void* y, const void* x, int64_t elements, DType type,
                                Activation f) {
  if (elements == 0) return;
  const Wide wide(*state_, elements, type, x);
  const ActivationPlan plan{elements, state_->computed(type), f, false};
  state_->entry(state_->activations, plan, make_activation)
      .run(*state_, {wide.in_place_of(y), wide.in_place_of(x)});
  wide.round_to(y);
}

void OneDnn::activation_backward(void* dx, const void* g, const void* x, int64_t elements,
                                 DType type, Activation f) {
  if (elements == 0) return;
  const Wide wide_g(*state_, elements, type, g);
  const Wide wide_x(*state_, elements, type, x);
  const ActivationPlan plan{elements, state_->computed(type), f, true};
  state_->entry(state_->activations, plan, make_activation)
      .run(*state_, {wide_g.in_place_of(dx), wide_g.in_place_of(g), wide_x.in_place_of(x)});
  wide_g.round_to(dx);
}

}  // namespace penstock
