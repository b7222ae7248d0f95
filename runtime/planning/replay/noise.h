// runtime/planning/replay/noise.h -- Noise: the factors by which computations take longer or
// shorter than their costs (Unevenness). A function of seed, step, rank and instruction: no state,
// no order.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/replay/job.h"

namespace penstock {

class Noise {
 public:
  Noise(const Job& job, uint64_t step);

  // The factor of the time of instruction number `instruction` of rank replica x positions +
  // position.
  [[nodiscard]] double factor(int rank, int instruction) const;

 private:
  double jitter_;
  uint64_t key_;                 // of the seed and the step
  std::vector<double> by_rank_;  // straggler_factor, or 1
};

}  // namespace penstock
