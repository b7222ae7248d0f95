// bench/paper_runs.h -- GPipe's Transformer-L on devices that nobody has to have: parameters and
// memory counted, steps simulated, by the rooms that `penstock plan` uses. Allocates no weights.
#pragma once

#include <cstdint>

#include "kernels/device_model.h"
#include "runtime/plan/candidate.h"

namespace penstock::paper {

// Sizes that the paper's tables share.
inline constexpr int kMiniBatch = 32;
inline constexpr int64_t kHeads = 32;
inline constexpr int64_t kContext = 1024;

// Weights of Transformer-L; vocabulary 32k, width 2048, feed-forward 8192.
[[nodiscard]] int64_t count_parameters(int64_t layers);

// The paper's schedule; a stage keeps its inputs only. One stage and one micro-batch are naive
// training: the whole mini-batch at once, and nothing recomputed.
[[nodiscard]] Candidate gpipe_run(int stages, int micro_batches);

// Bytes of the candidate, split as the planner would within the memory of the devices.
struct Bytes {
  int64_t parameters = 0;   // with gradients and the optimizer's state; all devices
  int64_t activations = 0;  // peaks; all devices
  int64_t fullest = 0;      // all that the fullest device holds
  bool fits = true;
};
[[nodiscard]] Bytes bytes_of(const Candidate& candidate, const DeviceModel& device, int64_t layers);

// The deepest Transformer-L that fits, 0 for none; what fits is taken to do so with a layer less.
[[nodiscard]] int64_t most_layers(const Candidate& candidate, const DeviceModel& device);

struct Speed {
  double samples_per_s = 0;
  bool fits = true;      // in the devices' memory
  double imbalance = 1;  // forward and backward on the slowest device, over the mean of all
  Candidate candidate;   // with its split
};
// As fast as the partitioner can make it, whatever memory it needs. `as_published`: the last stage
// recomputes as all others do, which this library leaves out where that saves no memory.
[[nodiscard]] Speed simulated(Candidate candidate, const DeviceModel& device, int64_t layers,
                              bool as_published);
// The best plan for the same devices and micro-batches: any schedule, any recompute mode. Where
// nothing fits, the best that there would be with more memory.
[[nodiscard]] Speed planned(const Candidate& as, const DeviceModel& device, int64_t layers);

}  // namespace penstock::paper
