#include "runtime/layers/attention.h"

namespace penstock {
namespace {

Linear::Options square(int64_t width, bool bias, double init_factor = 1.0) {
  return {.in = width,
          .out = width,
          .bias = bias,
          .activation = std::nullopt,
          .init_factor = init_factor};
}

}  // namespace

SelfAttention::SelfAttention(const std::string& name, const Options& options)
    : UnaryLayer(name),
      options_(options),
      name_hash_(hash_name(name)),
      query_(name + ".query", square(options.width, options.bias)),
      key_(name + ".key", square(options.width, options.bias)),
      value_(name + ".value", square(options.width, options.bias)),
      output_(name + ".output", square(options.width, options.bias, options.out_init_factor)) {
  if (options.heads < 1 || options.width % options.heads != 0) {
    misfit("width " + std::to_string(options.width) + " is not a multiple of its " +
           std::to_string(options.heads) + " heads: change model.width or model.heads");
  }
  if (!(options.dropout >= 0.0 && options.dropout < 1.0)) misfit("its dropout must be in [0, 1)");
}

void SelfAttention::declare(ParameterSet& set) {
  for (Linear* part : {&query_, &key_, &value_, &output_}) part->declare(set);
}

Shape SelfAttention::shape_of(const Shape& input) const {
  if (input.rank() != 3 || input[2] != options_.width) {
    misfit("expects [batch, time, " + std::to_string(options_.width) + "] but is given " +
           input.text());
  }
  return input;
}

Variable SelfAttention::run(Context& context, const Variable& x) {
  const Variable q = query_.forward(context, {x})[0];
  const Variable k = key_.forward(context, {x})[0];
  const Variable v = value_.forward(context, {x})[0];
  AttentionOptions how;
  how.heads = static_cast<int>(options_.heads);
  how.causal = options_.causal;
  if (context.training && options_.dropout > 0.0) {
    how.dropout = static_cast<float>(options_.dropout);
    how.stream = context.random(name_hash_);
  }
  return output_.forward(context, {attention(context.tape, q, k, v, nullptr, how)})[0];
}

}  // namespace penstock
