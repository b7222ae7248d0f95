#include "runtime/network/layers/expert_adapter.h"

#include <cmath>
#include <utility>

#include "runtime/network/autograd/functions.h"

namespace penstock {

ExpertAdapter::ExpertAdapter(std::string part, const Sizes& sizes, const AdapterOptions& options)
    : part_(std::move(part)), sizes_(sizes), options_(options) {}

void ExpertAdapter::declare(ParameterSet& set) const {
  const auto half_width = static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes_.in)));
  set.add(a_, part_ + ".lora_a", {sizes_.experts, options_.rank, sizes_.in},
          {Initializer::Kind::Uniform, half_width});
  set.add(b_, part_ + ".lora_b", {sizes_.experts, sizes_.out, options_.rank}, {});
}

Variable ExpertAdapter::product(Context& context, const Variable& x, const Routing& routing) const {
  Tape& tape = context.tape;
  const Variable narrow = grouped_linear(tape, x, context.parameter(a_), routing);
  const auto factor = static_cast<float>(options_.alpha / static_cast<double>(options_.rank));
  const Variable scaled = factor == 1.0F ? narrow : scale(tape, narrow, factor);
  return grouped_linear(tape, scaled, context.parameter(b_), routing);
}

}  // namespace penstock
