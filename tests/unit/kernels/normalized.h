// tests/unit/kernels/normalized.h -- normalize(): the expected results of layer norm and batch
// norm, by loops in double.
#pragma once

#include "tests/unit/kernels/loops_reference.h"

namespace penstock {

constexpr float kEpsilon = 1e-5F;

struct Normalized {
  Numbers y, mean, rstd;
};

// Normalizes `groups` groups of `count` elements with a common mean: x[element(group, i)] is a
// group's i-th element, gamma[channel(group, i)] and beta[channel(group, i)] its scale and shift.
template <class Element, class Channel>
[[nodiscard]] Normalized normalize(const Numbers& x, const Numbers& gamma, const Numbers& beta,
                                   int64_t groups, int64_t count, const Element& element,
                                   const Channel& channel) {
  Normalized n{Numbers(x.size()), {}, {}};
  for (int64_t g = 0; g < groups; ++g) {
    double mean = 0.0;
    double variance = 0.0;
    for (int64_t i = 0; i < count; ++i) mean += x[element(g, i)] / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) {
      variance += std::pow(x[element(g, i)] - mean, 2) / static_cast<double>(count);
    }
    const double rstd = 1.0 / std::sqrt(variance + double{kEpsilon});
    for (int64_t i = 0; i < count; ++i) {
      n.y[element(g, i)] =
          (x[element(g, i)] - mean) * rstd * gamma[channel(g, i)] + beta[channel(g, i)];
    }
    n.mean.push_back(mean);
    n.rstd.push_back(rstd);
  }
  return n;
}

}  // namespace penstock
