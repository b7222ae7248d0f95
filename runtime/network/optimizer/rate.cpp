#include "runtime/network/optimizer/rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/error.h"

namespace penstock {
namespace {

double cosine(const OptimizerConfig& config, int64_t step, int64_t total_steps) {
  const int64_t end = config.decay_steps > 0 ? config.decay_steps : total_steps;
  const int64_t length = end - config.warmup_steps;
  const int64_t done = step - config.warmup_steps;
  double progress = 1.0;  // also where the warm-up leaves no step for the decay
  if (done < length) progress = static_cast<double>(done) / static_cast<double>(length);
  if (done == 0) progress = 0.0;
  const double share = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return config.minimum_rate + (1.0 - config.minimum_rate) * share;
}

double inverse_sqrt(const OptimizerConfig& config, int64_t step) {
  const auto peak = static_cast<double>(std::max<int64_t>(config.warmup_steps, 1));
  return std::sqrt(peak / static_cast<double>(step));
}

double exponential(const OptimizerConfig& config, int64_t step) {
  const auto done = static_cast<double>(step - config.warmup_steps);
  return std::pow(config.decay_rate, done / static_cast<double>(config.decay_steps));
}

}  // namespace

double learning_rate(const OptimizerConfig& config, int64_t step, int64_t total_steps) {
  if (step < 1) fail_internal("steps count from 1, not from " + std::to_string(step));
  if (step < config.warmup_steps) {
    return config.learning_rate * static_cast<double>(step) /
           static_cast<double>(config.warmup_steps);
  }
  double share = 1.0;
  if (config.schedule == "cosine") share = cosine(config, step, total_steps);
  if (config.schedule == "inverse-sqrt") share = inverse_sqrt(config, step);
  if (config.schedule == "exponential") share = exponential(config, step);
  return config.learning_rate * share;
}

}  // namespace penstock
