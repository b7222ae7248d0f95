// runtime/network/layers/places.h -- packed_places(): the place of each position within its
// own sample, for rows that pack several samples one after another.
//
// Example, a row of two samples of three and two tokens: starts 0 0 0 3 3, places 0 1 2 0 1.
#pragma once

#include <string>

#include "kernels/ops/token.h"
#include "runtime/network/layers/context.h"

namespace penstock {

// Returns a new tensor, I32 [b, t]: the place of each position, counted from 0 in its sample.
// `starts` is the name of the field of the data, I32 [b, t], that has for each position the
// position in the row at which its sample starts.
[[nodiscard]] inline Tensor packed_places(Context& context, const std::string& starts) {
  const Tensor& field = context.field(starts);
  Tensor places = context.device().empty(field.shape(), DType::I32, Purpose::Activations);
  context.device().token().packed_places(places, field);
  return places;
}

}  // namespace penstock
