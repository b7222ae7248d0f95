// runtime/planning/replay/noise.h -- Noise: by which random factor each instruction of a simulated
// step takes longer or shorter than its mean time, as Unevenness (job.h) describes it.
//
// The factor is computed from (seed, step, rank, instruction) alone: a Noise has no state that
// changes, so the order of calls does not matter, and the same step always has the same noise.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/replay/job.h"

namespace penstock {

class Noise {
 public:
  // `step`: the number of the step. Steps differ in jitter, but have the same slow nodes.
  Noise(const Job& job, uint64_t step);

  // The number by which the time of an instruction is to be multiplied. `instruction` is its index
  // in the program of its rank; `rank` = replica x (ranks of a pipeline) + the rank's number within
  // its pipeline.
  [[nodiscard]] double factor(int rank, int instruction) const;

 private:
  double jitter_;
  uint64_t key_;                 // a hash of the seed and the step
  std::vector<double> by_rank_;  // straggler_factor for ranks on slow nodes, else 1
};

}  // namespace penstock
