// runtime/network/layers/library/places.h -- packed_places(): where each position is in its own
// sample, for rows that pack several samples.
#pragma once

#include <string>

#include "kernels/ops/token.h"
#include "runtime/network/layers/context.h"

namespace penstock {

// I32 [b, t]: the place of each position, counted from 0 in its sample. `starts` names the batch
// field, I32 [b, t], that says where the sample of each position starts in the row.
[[nodiscard]] inline Tensor packed_places(Context& context, const std::string& starts) {
  const Tensor& field = context.field(starts);
  Tensor places = context.device().empty(field.shape(), DType::I32, Purpose::Activations);
  context.device().token().packed_places(places, field);
  return places;
}

}  // namespace penstock
