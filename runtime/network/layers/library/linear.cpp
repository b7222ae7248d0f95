#include "runtime/network/layers/library/linear.h"

#include <array>
#include <cmath>
#include <string_view>

namespace penstock {

std::optional<Activation> activation_named(const std::string& name) {
  struct Entry {
    const char* name;
    std::optional<Activation> value;
  };
  static const std::array<Entry, 6> table = {{{"none", std::nullopt},
                                              {"relu", Activation::Relu},
                                              {"gelu", Activation::Gelu},
                                              {"gelu-tanh", Activation::GeluTanh},
                                              {"silu", Activation::Silu},
                                              {"tanh", Activation::Tanh}}};
  for (const Entry& entry : table) {
    if (name == entry.name) return entry.value;
  }
  fail_input("unknown activation '" + name +
             "'; known are none, relu, gelu, gelu-tanh, silu and tanh");
}

Initializer fan_in_normal(int64_t fan_in, double factor) {
  return {Initializer::Kind::Normal,
          static_cast<float>(factor * std::sqrt(1.0 / (3.0 * static_cast<double>(fan_in))))};
}

Linear::Linear(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  if (options_.in < 1 || options_.out < 1) misfit("its width must be at least 1");
  if (!options_.adapter) return;
  adapter_.emplace(this->name(), options_.in, options_.out, *options_.adapter);
  if (const std::string trouble = adapter_->trouble(); !trouble.empty()) misfit(trouble);
}

void Linear::declare(ParameterSet& set) const {
  const Shape shape = {options_.out, options_.in};
  Parameter& weight = options_.shared
                          ? set.share(weight_, options_.shared->name, shape, options_.shared->init)
                          : set.add(weight_, name() + ".weight", shape,
                                    fan_in_normal(options_.in, options_.init_factor));
  weight.only_rounded = true;
  if (options_.bias) set.add(bias_, name() + ".bias", {options_.out}, {}, ParameterKind::Bias);
  if (adapter_) adapter_->declare(set);
}

Shape Linear::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != options_.in) {
    misfit("expects [batch, ..., " + std::to_string(options_.in) + "] but is given " +
           input.text());
  }
  Shape output = input;
  output[output.rank() - 1] = options_.out;
  return output;
}

Variable Linear::run(Context& context, const Variable& x) const {
  Parameter& weight = context.parameter(weight_);
  Parameter* bias = context.parameter_if(bias_);
  if (adapter_) {
    const Variable y = adapter_->add_to(context, linear(context.tape, x, weight, bias), x);
    return options_.activation ? activation(context.tape, y, *options_.activation) : y;
  }
  if (!options_.activation) return linear(context.tape, x, weight, bias);
  // ReLU and tanh are differentiated from their output, so they can be fused with the product. The
  // other activations need their input.
  if (*options_.activation == Activation::Relu) {
    return linear(context.tape, x, weight, bias, Fused::Relu);
  }
  if (*options_.activation == Activation::Tanh) {
    return linear(context.tape, x, weight, bias, Fused::Tanh);
  }
  return activation(context.tape, linear(context.tape, x, weight, bias), *options_.activation);
}

namespace {

Linear::Options first_layer(const FeedForward::Options& options, std::optional<Activation> f,
                            std::string_view part) {
  return {.in = options.width,
          .out = options.hidden,
          .bias = options.bias,
          .activation = f,
          .init_factor = options.in_init_factor,
          .adapter = options.adapted.of(part)};
}

Linear::Options last_layer(const FeedForward::Options& options) {
  return {.in = options.hidden,
          .out = options.width,
          .bias = options.bias,
          .init_factor = options.out_init_factor,
          .adapter = options.adapted.of("out")};
}

}  // namespace

FeedForward::FeedForward(const std::string& name, const Options& options)
    : UnaryLayer(name),
      activation_(options.activation),
      adapted_(options.adapted.of("in") || options.adapted.of("out")),
      in_(name + ".in", first_layer(options, options.activation, "in")),
      out_(name + ".out", last_layer(options)) {}

void FeedForward::declare(ParameterSet& set) const {
  in_.declare(set);
  out_.declare(set);
}

Shape FeedForward::shape_of(const Shape& input) const {
  return out_.infer(in_.infer({input}))[0];
}

Variable FeedForward::run(Context& context, const Variable& x) const {
  // feed_forward() fuses the product with the activation. This is not possible if an adapter adds
  // to the product before the activation. ReLU and tanh are fused in the linear layer itself.
  if (adapted_ || activation_ == Activation::Relu || activation_ == Activation::Tanh) {
    return out_.forward(context, in_.forward(context, {x}))[0];
  }
  return feed_forward(context.tape, x, context.parameter(in_.weight()),
                      context.parameter_if(in_.bias()), context.parameter(out_.weight()),
                      context.parameter_if(out_.bias()), activation_);
}

GatedFeedForward::GatedFeedForward(const std::string& name, const Options& options)
    : UnaryLayer(name),
      activation_(options.activation),
      gate_(name + ".gate", first_layer(options, std::nullopt, "gate")),
      in_(name + ".in", first_layer(options, std::nullopt, "in")),
      out_(name + ".out", last_layer(options)) {}

void GatedFeedForward::declare(ParameterSet& set) const {
  for (const Linear* part : {&gate_, &in_, &out_}) part->declare(set);
}

Shape GatedFeedForward::shape_of(const Shape& input) const {
  return out_.infer(in_.infer({input}))[0];
}

Variable GatedFeedForward::run(Context& context, const Variable& x) const {
  const Variable gate = gate_.forward(context, {x})[0];
  const Variable through = in_.forward(context, {x})[0];
  return out_.forward(context, {gated(context.tape, gate, through, activation_)})[0];
}

}  // namespace penstock
