// runtime/network/layers/library/places.h -- the places of positions in the samples that a row
// packs.
#pragma once

#include <string>

#include "kernels/ops/token.h"
#include "runtime/network/layers/context.h"

namespace penstock {

// I32 [b, t], from the batch field of that name (AttentionMask::starts).
[[nodiscard]] inline Tensor packed_places(Context& context, const std::string& starts) {
  const Tensor& field = context.field(starts);
  Tensor places = context.device().empty(field.shape(), DType::I32, Purpose::Activations);
  context.device().token().packed_places(places, field);
  return places;
}

}  // namespace penstock
