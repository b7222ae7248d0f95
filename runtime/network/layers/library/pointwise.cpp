#include "runtime/network/layers/library/pointwise.h"

#include <algorithm>

namespace penstock {

Dropout::Dropout(std::string name, double rate)
    : UnaryLayer(std::move(name)),
      rate_(static_cast<float>(rate)),
      name_hash_(hash_name(this->name())) {
  if (!(rate >= 0.0 && rate < 1.0)) misfit("its rate must be in [0, 1)");
}

Variable Dropout::run(Context& context, const Variable& x) const {
  if (!context.training() || rate_ == 0.0F) return x;
  return dropout(context.tape, x, rate_, context.random(name_hash_));
}

DropPath::DropPath(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options), name_hash_(hash_name(this->name())) {
  if (!(options.rate >= 0.0 && options.rate < 1.0)) misfit("its rate must be in [0, 1)");
  if (options.ramp_steps < 0) misfit("its ramp must not be negative");
}

Variable DropPath::run(Context& context, const Variable& x) const {
  if (!context.training() || options_.rate == 0.0) return x;
  const double grown = options_.ramp_steps == 0 ? 1.0
                                                : static_cast<double>(context.batch.pass.step) /
                                                      static_cast<double>(options_.ramp_steps);
  const auto rate = static_cast<float>(options_.rate * std::min(1.0, grown));
  return dropout_rows(context.tape, x, rate, context.random_of_step(name_hash_),
                      context.batch.global_index() * x.shape()[0]);
}

}  // namespace penstock
