#include "runtime/layers/pointwise.h"

namespace penstock {

Dropout::Dropout(std::string name, double rate)
    : UnaryLayer(std::move(name)),
      rate_(static_cast<float>(rate)),
      name_hash_(hash_name(this->name())) {
  if (!(rate >= 0.0 && rate < 1.0)) misfit("its rate must be in [0, 1)");
}

Variable Dropout::run(Context& context, const Variable& x) {
  if (!context.training || rate_ == 0.0F) return x;
  return dropout(context.tape, x, rate_, context.random(name_hash_));
}

}  // namespace penstock
