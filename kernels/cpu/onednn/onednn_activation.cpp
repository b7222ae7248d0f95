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
  if (type == DType::BF16 && !state_->native_bf16) {
    const Tensor wide = state_->scratch(elements, DType::F32);
    widen(wide.data<float>(), static_cast<const bfloat16*>(x), elements, state_->threads);
    activation_forward(wide.raw(), wide.raw(), elements, DType::F32, f);
    narrow(static_cast<bfloat16*>(y), wide.data<float>(), elements, state_->threads);
    return;
  }
  const ActivationPlan plan{elements, type, f, false};
  state_->entry(state_->activations, plan, make_activation).run(*state_, {y, x});
}

void OneDnn::activation_backward(void* dx, const void* g, const void* x, int64_t elements,
                                 DType type, Activation f) {
  if (elements == 0) return;
  if (type == DType::BF16 && !state_->native_bf16) {
    const Tensor wide_g = state_->scratch(elements, DType::F32);
    const Tensor wide_x = state_->scratch(elements, DType::F32);
    widen(wide_g.data<float>(), static_cast<const bfloat16*>(g), elements, state_->threads);
    widen(wide_x.data<float>(), static_cast<const bfloat16*>(x), elements, state_->threads);
    activation_backward(wide_g.raw(), wide_g.raw(), wide_x.raw(), elements, DType::F32, f);
    narrow(static_cast<bfloat16*>(dx), wide_g.data<float>(), elements, state_->threads);
    return;
  }
  const ActivationPlan plan{elements, type, f, true};
  state_->entry(state_->activations, plan, make_activation).run(*state_, {dx, g, x});
}

}  // namespace penstock
