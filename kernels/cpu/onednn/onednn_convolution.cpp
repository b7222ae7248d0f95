// kernels/cpu/onednn/onednn_convolution.cpp -- convolutions by oneDNN. Images are channels-last and
// plain, which costs the library little and saves every reorder of an activation.
#include <algorithm>

#include "kernels/cpu/onednn/onednn_state.h"

namespace penstock {
namespace {

using Tag = dnnl::memory::format_tag;

std::string text(const ConvolutionPlan& p) {
  const Window& w = p.window;
  return "a " + std::to_string(w.kernel_h) + " x " + std::to_string(w.kernel_w) +
         " convolution of " + Shape{p.n, p.h, p.w, p.in}.text() + " to " +
         Shape{p.n, p.out_h, p.out_w, p.out}.text() + " in " + std::to_string(p.groups) +
         " groups, " + name_of(p.type);
}

// Returns the layout for the gradient of the weight: the library's choice, unless that choice is
// wrong. For 1 x 1 filters with a stride and with fewer channels than a block, the library's code
// strays beyond its scratch memory (https://github.com/uxlfoundation/oneDNN/issues/6035, in bf16
// too). A plain layout keeps the library from taking that code.
Tag gradient_layout(const ConvolutionPlan& p) {
  constexpr int64_t kBlock = 16;
  const Window& w = p.window;
  const bool strays =
      w.kernel_h * w.kernel_w == 1 && w.stride_h * w.stride_w > 1 && p.in / p.groups < kBlock;
  if (!strays) return Tag::any;
  return p.groups > 1 ? Tag::hwigo : Tag::hwio;
}

// Describes the tensors that all three primitives of a convolution are made for.
struct Layouts {
  dnnl_api::Desc x, y, bias;
  dnnl_api::Desc weight;       // as users see it, fp32
  dnnl_api::Desc any_weight;   // the library's choice, in the type of the images
  dnnl_api::Desc any_dweight;  // what gradient_layout() chooses, fp32
  dnnl_api::Sliding sliding;
};

Layouts layouts(const ConvolutionPlan& p) {
  const auto type = library_type(p.type);
  const auto fp32 = dnnl::memory::data_type::f32;
  const Window& w = p.window;
  dnnl::memory::dims filter = {p.out, p.in, w.kernel_h, w.kernel_w};
  if (p.groups > 1) {
    filter = {p.groups, p.out / p.groups, p.in / p.groups, w.kernel_h, w.kernel_w};
  }
  return {
      .x = {{p.n, p.in, p.h, p.w}, type, Tag::nhwc},
      .y = {{p.n, p.out, p.out_h, p.out_w}, type, Tag::nhwc},
      .bias = p.bias ? dnnl_api::Desc({p.out}, fp32, Tag::a) : dnnl_api::Desc(),
      .weight = {filter, fp32, p.groups > 1 ? Tag::goihw : Tag::oihw},
      .any_weight = {filter, type, Tag::any},
      .any_dweight = {filter, fp32, gradient_layout(p)},
      .sliding = {{w.stride_h, w.stride_w}, {w.pad_top, w.pad_left}, {w.pad_bottom, w.pad_right}}};
}

dnnl::convolution_forward::primitive_desc describe_forward(OneDnn::State& state,
                                                           const ConvolutionPlan& plan,
                                                           const Layouts& l) {
  dnnl::primitive_attr attr = new_attributes();
  if (plan.fused == Fused::Relu) {
    dnnl::post_ops ops;
    dnnl_api::append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0.0F);
    attr.set_post_ops(ops);
  }
  return dnnl_api::convolution_forward(state.engine, l.x, l.any_weight, l.bias, l.y, l.sliding,
                                       attr);
}

PackedPrimitive make_forward(OneDnn::State& state, const ConvolutionPlan& plan) {
  try {
    const Layouts l = layouts(plan);
    const auto desc = describe_forward(state, plan, l);
    std::vector<Argument> arguments = {
        {DNNL_ARG_DST, l.y}, {DNNL_ARG_SRC, l.x}, {DNNL_ARG_WEIGHTS, desc.weights_desc()}};
    if (plan.bias) arguments.push_back({DNNL_ARG_BIAS, l.bias});
    return {{state, std::type_identity<dnnl::convolution_forward>{}, desc, arguments},
            {state, l.weight, desc.weights_desc()}};
  } catch (const dnnl::error& error) {
    fail_library(text(plan), error);
  }
}

PackedPrimitive make_backward_input(OneDnn::State& state, const ConvolutionPlan& plan) {
  try {
    const Layouts l = layouts(plan);
    const auto desc =
        dnnl_api::convolution_backward_data(state.engine, l.x, l.any_weight, l.y, l.sliding,
                                            describe_forward(state, plan, l), new_attributes());
    return {{state,
             std::type_identity<dnnl::convolution_backward_data>{},
             desc,
             {{DNNL_ARG_DIFF_SRC, l.x},
              {DNNL_ARG_DIFF_DST, l.y},
              {DNNL_ARG_WEIGHTS, desc.weights_desc()}}},
            {state, l.weight, desc.weights_desc()}};
  } catch (const dnnl::error& error) {
    fail_library("the input gradient of " + text(plan), error);
  }
}

AddedPrimitive make_backward_weight(OneDnn::State& state, const ConvolutionPlan& plan) {
  try {
    const Layouts l = layouts(plan);
    const auto desc =
        dnnl_api::convolution_backward_weights(state.engine, l.x, l.any_dweight, l.y, l.sliding,
                                               describe_forward(state, plan, l), new_attributes());
    const dnnl_api::Desc between = desc.diff_weights_desc();
    return {{state,
             std::type_identity<dnnl::convolution_backward_weights>{},
             desc,
             {{DNNL_ARG_DIFF_WEIGHTS, between}, {DNNL_ARG_SRC, l.x}, {DNNL_ARG_DIFF_DST, l.y}}},
            {state, between, l.weight}};
  } catch (const dnnl::error& error) {
    fail_library("the weight gradient of " + text(plan), error);
  }
}

bool must_emulate(const OneDnn::State& state, const ConvolutionPlan& plan) {
  return plan.type == DType::BF16 && !state.native_bf16;
}

ConvolutionPlan widened(ConvolutionPlan plan) {
  plan.type = DType::F32;
  return plan;
}

Tensor widened(OneDnn::State& state, const void* data, int64_t elements) {
  Tensor wide = state.scratch(elements, DType::F32);
  widen(wide.data<float>(), static_cast<const bfloat16*>(data), elements, state.threads);
  return wide;
}

int64_t x_elements(const ConvolutionPlan& p) {
  return p.n * p.h * p.w * p.in;
}

int64_t y_elements(const ConvolutionPlan& p) {
  return p.n * p.out_h * p.out_w * p.out;
}

}  // namespace

size_t PlanHash::operator()(const ConvolutionPlan& p) const {
  const Window& w = p.window;
  return hash_fields(3, p.n, p.h, p.w, p.in, p.out_h, p.out_w, p.out, p.groups, w.kernel_h,
                     w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_bottom, w.pad_left,
                     w.pad_right, p.type, p.bias, p.fused);
}

void OneDnn::convolution_forward(const ConvolutionPlan& plan, void* y, const void* x, Weight& w,
                                 const float* bias) {
  if (plan.n == 0) return;
  if (plan.fused == Fused::Tanh) {  // the library's tanh is not used: see onednn_matmul.cpp
    ConvolutionPlan plain = plan;
    plain.fused = Fused::None;
    convolution_forward(plain, y, x, w, bias);
    return activation_forward(y, y, y_elements(plan), plan.type, Activation::Tanh);
  }
  if (must_emulate(*state_, plan)) {
    const Tensor wide_x = widened(*state_, x, x_elements(plan));
    const Tensor wide_y = state_->scratch(y_elements(plan), DType::F32);
    convolution_forward(widened(plan), wide_y.raw(), wide_x.raw(), w, bias);
    narrow(static_cast<bfloat16*>(y), wide_y.data<float>(), y_elements(plan), state_->threads);
    return;
  }
  PackedPrimitive& entry = state_->entry(state_->convolutions_forward, plan, make_forward);
  const Tensor packed = entry.packing.form_of(*state_, w);
  if (plan.bias) {
    entry.primitive.run(*state_, {y, x, packed.raw(), bias});
  } else {
    entry.primitive.run(*state_, {y, x, packed.raw()});
  }
}

void OneDnn::convolution_backward_input(const ConvolutionPlan& plan, void* dx, const void* g,
                                        Weight& w) {
  if (plan.n == 0) return;
  if (must_emulate(*state_, plan)) {
    const Tensor wide_g = widened(*state_, g, y_elements(plan));
    const Tensor wide_dx = state_->scratch(x_elements(plan), DType::F32);
    convolution_backward_input(widened(plan), wide_dx.raw(), wide_g.raw(), w);
    narrow(static_cast<bfloat16*>(dx), wide_dx.data<float>(), x_elements(plan), state_->threads);
    return;
  }
  PackedPrimitive& entry =
      state_->entry(state_->convolutions_backward_input, plan, make_backward_input);
  const Tensor packed = entry.packing.form_of(*state_, w);
  entry.primitive.run(*state_, {dx, g, packed.raw()});
}

void OneDnn::convolution_backward_weight(const ConvolutionPlan& plan, float* dw, const void* x,
                                         const void* g, bool accumulate) {
  if (plan.n == 0) {
    const Window& w = plan.window;
    const int64_t elements = plan.out * (plan.in / plan.groups) * w.kernel_h * w.kernel_w;
    if (!accumulate) std::fill_n(dw, elements, 0.0F);
    return;
  }
  if (must_emulate(*state_, plan)) {
    const Tensor wide_x = widened(*state_, x, x_elements(plan));
    const Tensor wide_g = widened(*state_, g, y_elements(plan));
    convolution_backward_weight(widened(plan), dw, wide_x.raw(), wide_g.raw(), accumulate);
    return;
  }
  AddedPrimitive& entry =
      state_->entry(state_->convolutions_backward_weight, plan, make_backward_weight);
  const Tensor between = state_->scratch(entry.unpacking.size_bytes(), DType::U8);
  entry.primitive.run(*state_, {between.raw(), x, g});
  entry.unpacking.run(*state_, dw, between.raw(), accumulate);
}

}  // namespace penstock
