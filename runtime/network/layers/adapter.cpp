#include "runtime/network/layers/adapter.h"

#include <algorithm>
#include <cmath>

#include "kernels/philox.h"
#include "runtime/network/autograd/functions.h"

namespace penstock {

std::optional<AdapterOptions> AdaptedParts::of(std::string_view part) const {
  if (std::find(names.begin(), names.end(), part) == names.end()) return std::nullopt;
  return adapter;
}

Adapter::Adapter(const std::string& layer, int64_t in, int64_t out, const AdapterOptions& options)
    : layer_(layer),
      in_(in),
      out_(out),
      options_(options),
      dropout_hash_(hash_name(layer + ".lora_dropout")) {}

void Adapter::declare(ParameterSet& set) const {
  // The first matrix starts with numbers drawn uniformly from -half_width to half_width, as in
  // peft. The second starts at zero.
  const auto half_width = static_cast<float>(1.0 / std::sqrt(static_cast<double>(in_)));
  set.add(a_, layer_ + ".lora_a", {options_.rank, in_}, {Initializer::Kind::Uniform, half_width});
  set.add(b_, layer_ + ".lora_b", {out_, options_.rank}, {});
}

Variable Adapter::add_to(Context& context, const Variable& y, const Variable& x) const {
  Tape& tape = context.tape;
  Variable into = x;
  if (context.training() && options_.dropout > 0.0) {
    into = dropout(tape, x, static_cast<float>(options_.dropout), context.random(dropout_hash_));
  }
  const Variable narrow = linear(tape, into, context.parameter(a_), nullptr);
  // The narrow tensor is scaled, and not the result, since it has fewer numbers.
  const auto factor = static_cast<float>(options_.alpha / static_cast<double>(options_.rank));
  const Variable scaled = factor == 1.0F ? narrow : scale(tape, narrow, factor);
  return add(tape, y, linear(tape, scaled, context.parameter(b_), nullptr));
}

std::string Adapter::trouble() const {
  if (options_.rank < 1) return "the rank of its adapter must be at least 1";
  if (!(options_.dropout >= 0.0 && options_.dropout < 1.0)) {
    return "the dropout of its adapter must be in [0, 1)";
  }
  if (!std::isfinite(options_.alpha)) return "the alpha of its adapter must be finite";
  return {};
}

}  // namespace penstock
