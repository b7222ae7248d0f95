// kernels/cpu/onednn/onednn_convolution.cpp -- convolutions by oneDNN. Images are channels-last and
// plain, which costs the library little and saves every reorder of an activation.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "kernels/cpu/onednn/filter_form.h"
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
  dnnl_api::Desc weight;                      // as users see it, fp32
  dnnl_api::Desc any_weight;                  // the library's choice, in the type of the images
  dnnl_api::Desc any_dweight;                 // what gradient_layout() chooses, fp32
  dnnl::memory::dims strides, before, after;  // of the window and its padding: vertical, horizontal
};

Layouts layouts(const ConvolutionPlan& p) {
  const auto type = library_type(p.type);
  const auto fp32 = dnnl::memory::data_type::f32;
  const Window& w = p.window;
  dnnl::memory::dims filter = {p.out, p.in, w.kernel_h, w.kernel_w};
  if (p.groups > 1) {
    filter = {p.groups, p.out / p.groups, p.in / p.groups, w.kernel_h, w.kernel_w};
  }
  return {.x = {{p.n, p.in, p.h, p.w}, type, Tag::nhwc},
          .y = {{p.n, p.out, p.out_h, p.out_w}, type, Tag::nhwc},
          .bias = p.bias ? dnnl_api::Desc({p.out}, fp32, Tag::a) : dnnl_api::Desc(),
          .weight = {filter, fp32, p.groups > 1 ? Tag::goihw : Tag::oihw},
          .any_weight = {filter, type, Tag::any},
          .any_dweight = {filter, fp32, gradient_layout(p)},
          .strides = {w.stride_h, w.stride_w},
          .before = {w.pad_top, w.pad_left},
          .after = {w.pad_bottom, w.pad_right}};
}

dnnl::convolution_forward::primitive_desc describe_forward(const dnnl::engine& engine,
                                                           const ConvolutionPlan& plan,
                                                           const Layouts& l) {
  dnnl::primitive_attr attr = new_attributes();
  if (plan.fused == Fused::Relu) {
    dnnl::post_ops ops;
    dnnl_api::append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0.0F);
    attr.set_post_ops(ops);
  }
  return dnnl_api::describe<dnnl::convolution_forward>(
      engine, attr, dnnl::prop_kind::forward_training, dnnl_api::kDirect, l.x, l.any_weight, l.bias,
      l.y, l.strides, l.before, l.after);
}

dnnl::convolution_backward_data::primitive_desc describe_backward_input(const dnnl::engine& engine,
                                                                        const ConvolutionPlan& plan,
                                                                        const Layouts& l) {
  return dnnl_api::describe_backward<dnnl::convolution_backward_data>(
      engine, new_attributes(), describe_forward(engine, plan, l), dnnl_api::kDirect, l.x,
      l.any_weight, l.y, l.strides, l.before, l.after);
}

dnnl::convolution_backward_weights::primitive_desc describe_backward_weight(
    const dnnl::engine& engine, const ConvolutionPlan& plan, const Layouts& l) {
  return dnnl_api::describe_backward<dnnl::convolution_backward_weights>(
      engine, new_attributes(), describe_forward(engine, plan, l), dnnl_api::kDirect, l.x,
      l.any_dweight, l.y, l.strides, l.before, l.after);
}

PackedPrimitive make_forward(OneDnn::State& state, const ConvolutionPlan& plan) {
  try {
    const Layouts l = layouts(plan);
    const auto desc = describe_forward(state.engine, plan, l);
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
    const auto desc = describe_backward_input(state.engine, plan, l);
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
    const auto desc = describe_backward_weight(state.engine, plan, l);
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

// The plan in the type in which the processor computes.
ConvolutionPlan computed(const OneDnn::State& state, ConvolutionPlan plan) {
  plan.type = state.computed(plan.type);
  return plan;
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

namespace {

struct FilterQuestion {
  ConvolutionPlan plan;
  FilterUse use;
  int threads;
  bool operator==(const FilterQuestion&) const = default;
};

struct FilterQuestionHash {
  size_t operator()(const FilterQuestion& q) const {
    return hash_fields(PlanHash()(q.plan), q.use, q.threads);
  }
};

// The answers so far. A form's number is its index + 1 among the layouts of filters of that shape.
struct FilterAnswers {
  using Filter = std::array<int64_t, 5>;  // out, in, groups, kernel_h, kernel_w

  std::mutex lock;  // for all members
  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<Filter, std::vector<dnnl_api::Desc>> layouts;
  std::unordered_map<FilterQuestion, std::optional<FilterForm>, FilterQuestionHash> forms;
};

// Returns whether the library may be asked. It counts in 32 bits in many places, and 3.7.2 ends the
// process with a division by zero for some convolutions of larger tensors.
bool is_answerable(const ConvolutionPlan& p) {
  const auto fits = [](std::initializer_list<int64_t> extents) {
    double elements = 1;
    for (const int64_t extent : extents) elements *= static_cast<double>(extent);
    return elements > 0 && elements <= INT32_MAX;
  };
  return fits({p.n, p.h, p.w, p.in}) && fits({p.n, p.out_h, p.out_w, p.out}) &&
         fits({p.out, p.in / p.groups, p.window.kernel_h, p.window.kernel_w});
}

dnnl_api::Desc form_used(const dnnl::engine& engine, const FilterQuestion& question,
                         const Layouts& l) {
  switch (question.use) {
    case FilterUse::Forward:
      return describe_forward(engine, question.plan, l).weights_desc();
    case FilterUse::InputGradient:
      return describe_backward_input(engine, question.plan, l).weights_desc();
    case FilterUse::WeightGradient:
      return describe_backward_weight(engine, question.plan, l).diff_weights_desc();
  }
  fail_internal("unknown use of a filter");
}

std::optional<FilterForm> ask(FilterAnswers& known, const FilterQuestion& question) {
  require_room_for_code();
  try {
    const ConvolutionPlan& p = question.plan;
    const Layouts l = layouts(p);
    const dnnl_api::Desc used = form_used(known.engine, question, l);
    FilterForm form{.size_bytes = static_cast<int64_t>(used.get_size())};
    if (used == l.weight) return form;
    auto& all = known.layouts[{p.out, p.in, p.groups, p.window.kernel_h, p.window.kernel_w}];
    const auto found = std::find(all.begin(), all.end(), used);
    form.number = static_cast<uint64_t>(found - all.begin()) + 1;
    if (found == all.end()) all.push_back(used);
    return form;
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace

std::optional<FilterForm> filter_form(const ConvolutionPlan& plan, FilterUse use, int threads) {
  if (!is_answerable(plan)) return {};
  static FilterAnswers known;
  const std::lock_guard<std::mutex> alone(known.lock);
  FilterQuestion question{plan, use, threads};
  // The library's tanh is not used.
  if (plan.fused == Fused::Tanh) question.plan.fused = Fused::None;
  const auto found = known.forms.find(question);
  if (found != known.forms.end()) return found->second;
  // The library answers for as many threads as the calling one may have.
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const std::optional<FilterForm> form = ask(known, question);
  omp_set_num_threads(before);
  known.forms.emplace(question, form);
  return form;
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
  const Wide wide_x(*state_, x_elements(plan), plan.type, x);
  const Wide wide_y(*state_, y_elements(plan), plan.type);
  PackedPrimitive& entry =
      state_->entry(state_->convolutions_forward, computed(*state_, plan), make_forward);
  const Tensor packed = entry.packing.form_of(*state_, w);
  const void* to = wide_y.in_place_of(y);
  const void* from = wide_x.in_place_of(x);
  if (plan.bias) {
    entry.primitive.run(*state_, {to, from, packed.raw(), bias});
  } else {
    entry.primitive.run(*state_, {to, from, packed.raw()});
  }
  wide_y.round_to(y);
}

void OneDnn::convolution_backward_input(const ConvolutionPlan& plan, void* dx, const void* g,
                                        Weight& w) {
  if (plan.n == 0) return;
  const Wide wide_g(*state_, y_elements(plan), plan.type, g);
  const Wide wide_dx(*state_, x_elements(plan), plan.type);
  PackedPrimitive& entry = state_->entry(state_->convolutions_backward_input,
                                         computed(*state_, plan), make_backward_input);
  const Tensor packed = entry.packing.form_of(*state_, w);
  entry.primitive.run(*state_, {wide_dx.in_place_of(dx), wide_g.in_place_of(g), packed.raw()});
  wide_dx.round_to(dx);
}

void OneDnn::convolution_backward_weight(const ConvolutionPlan& plan, float* dw, const void* x,
                                         const void* g, bool accumulate) {
  if (plan.n == 0) {
    const Window& w = plan.window;
    const int64_t elements = plan.out * (plan.in / plan.groups) * w.kernel_h * w.kernel_w;
    if (!accumulate) std::fill_n(dw, elements, 0.0F);
    return;
  }
  const Wide wide_x(*state_, x_elements(plan), plan.type, x);
  const Wide wide_g(*state_, y_elements(plan), plan.type, g);
  AddedPrimitive& entry = state_->entry(state_->convolutions_backward_weight,
                                        computed(*state_, plan), make_backward_weight);
  const Tensor between = state_->scratch(entry.unpacking.size_bytes(), DType::U8);
  entry.primitive.run(*state_, {between.raw(), wide_x.in_place_of(x), wide_g.in_place_of(g)});
  entry.unpacking.run(*state_, dw, between.raw(), accumulate);
}

}  // namespace penstock
