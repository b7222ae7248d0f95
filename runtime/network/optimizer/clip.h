// runtime/network/optimizer/clip.h -- gradient clipping by the global norm (Pascanu et al. 2013):
// the norm of the whole gradient, and the factor by which all gradients are multiplied. Pure
// arithmetic: the caller has gathered the numbers of all ranks.
#pragma once

#include <span>

namespace penstock {

// The norm of the whole gradient: the square root of the sum of `sums_of_squares`, each of which is
// the sum of squares of one parameter's gradient. They are added in the order of the span: pass
// those of all parameters of the network in layer order, whichever ranks hold them, and the norm
// has the same bits for every number of stages.
[[nodiscard]] double gradient_norm(std::span<const double> sums_of_squares);

// The factor by which every gradient is multiplied: min(1, limit / norm); 1 when `limit` is 0 (no
// clipping). The norm must be finite.
[[nodiscard]] double clip_scale(double norm, double limit);

}  // namespace penstock
