// runtime/network/optimizer/rate.h -- learning_rate(): the learning rate of a step, by warm-up and
// schedule. A pure function of its arguments: every rank computes the same value, and a checkpoint
// keeps nothing of it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/network/optimizer/config.h"

namespace penstock {

// `step` counts from 1; `total_steps` is the number of steps of the run. With W = warmup_steps the
// rate is learning_rate * step / W up to step W, and from there learning_rate times
//   constant      1
//   cosine        minimum_rate + (1 - minimum_rate) (1 + cos(pi p)) / 2, where p runs from 0 at
//                 step W to 1 at decay_steps (0: total_steps) and stays 1 (Loshchilov & Hutter
//                 2017, without restarts)
//   linear        minimum_rate + (1 - minimum_rate) (1 - p), with the same p
//   wsd           1, and over the last decay_steps of the run (0: a tenth of them) linearly down to
//                 minimum_rate (warmup-stable-decay, Hu et al. 2024)
//   inverse-sqrt  sqrt(max(W, 1) / step) (Vaswani et al. 2017, section 5.3, scaled to its peak)
//   exponential   decay_rate ^ ((step - W) / decay_steps), with a real exponent
// So none of them jumps at step W. The configuration must have passed validate().
[[nodiscard]] double learning_rate(const OptimizerConfig& config, int64_t step,
                                   int64_t total_steps);

// A line for people where warmup_steps or decay_steps is a number that the schedule cannot keep to,
// which says what happens instead; else empty.
[[nodiscard]] std::string rate_note(const OptimizerConfig& config, int64_t total_steps);

}  // namespace penstock
