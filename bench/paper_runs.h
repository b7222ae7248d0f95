// bench/paper_runs.h -- the GPipe paper's Transformer-L and AmoebaNet-D on modelled devices:
// parameters and memory counted, steps simulated, by the code that `penstock plan` uses. Allocates
// no weights.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/device_model.h"
#include "runtime/network/models/config.h"
#include "runtime/planning/plan/arrangement.h"

namespace penstock::paper {

// Sizes that the paper's tables share.
inline constexpr int64_t kHeads = 32;
inline constexpr int64_t kContext = 1024;

// A network and the mini-batch that it is trained with.
struct Work {
  ModelConfig model;
  int mini_batch = 0;
};
// The paper's Transformer-L: vocabulary 32k, width 2048, feed-forward 8192; 32 sequences.
[[nodiscard]] Work transformer(int64_t layers);
// The paper's AmoebaNet-D (L, D) for ImageNet; 128 images.
[[nodiscard]] Work amoebanet(int64_t layers, int64_t filters);

[[nodiscard]] int64_t count_parameters(const Work& work);

// The paper's schedule; a stage keeps its inputs only. One stage and one micro-batch are naive
// training: the whole mini-batch at once, and nothing recomputed.
[[nodiscard]] Arrangement gpipe_run(const Work& work, int stages, int micro_batches);

// The bytes that the candidate needs, when the planner splits it within the devices' memory.
struct Bytes {
  int64_t parameters = 0;   // with gradients and the optimizer's state; all devices
  int64_t activations = 0;  // peaks; all devices
  int64_t fullest = 0;      // all that the fullest device holds
  bool fits = true;
};
[[nodiscard]] Bytes bytes_of(const Arrangement& candidate, const DeviceModel& device,
                             const Work& work);

// The largest n for which work_of(n) fits on `stages` devices; 0: none. Assumes that smaller n fit.
[[nodiscard]] int64_t largest(int stages, int micro_batches, const DeviceModel& device,
                              const std::function<Work(int64_t n)>& work_of);

struct Speed {
  double samples_per_s = 0;
  bool fits = true;       // in the devices' memory
  double imbalance = 1;   // forward and backward on the slowest device, over the mean of all
  Arrangement candidate;  // with its split
};
// The speed with the fastest split that the partitioner finds, whatever memory it needs.
// `as_published`: the last stage recomputes as all others do, which this library leaves out where
// that saves no memory.
[[nodiscard]] Speed simulated(Arrangement candidate, const DeviceModel& device, const Work& work,
                              bool as_published);
// The speed of the best plan for the stages and micro-batches of `as`, with any schedule and any
// recompute mode. Where nothing fits, the best that there would be with more memory.
[[nodiscard]] Speed planned(const Arrangement& as, const DeviceModel& device, const Work& work);

}  // namespace penstock::paper
