#include "runtime/network/optimizer/clip.h"

#include <cmath>

namespace penstock {

double gradient_norm(std::span<const double> sums_of_squares) {
  double sum = 0.0;
  for (double square : sums_of_squares) sum += square;
  return std::sqrt(sum);
}

double clip_scale(double norm, double limit) {
  return limit > 0.0 && norm > limit ? limit / norm : 1.0;
}

}  // namespace penstock
