// runtime/network/optimizer/clip.h -- clipping by the global norm (Pascanu et al. 2013), as pure
// arithmetic.
#pragma once

#include <span>

namespace penstock {

// The norm of the whole gradient from each parameter's sum of squares. The order of the sum is the
// order of the span: pass all parameters of the model in layer order, whatever rank holds them, and
// the norm has the same bits for every number of stages.
[[nodiscard]] double gradient_norm(std::span<const double> sums_of_squares);

// The factor that every gradient is multiplied by: min(1, limit / norm), and 1 when limit is 0
// (off). The norm must be finite: the caller refuses a step whose norm is not.
[[nodiscard]] double clip_scale(double norm, double limit);

}  // namespace penstock
