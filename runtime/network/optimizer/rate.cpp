#include "runtime/network/optimizer/rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

// Returns how far a decay has come: 0 until step `begin`, 1 from step `end` on, and in between it
// grows by the same amount in each step.
double progress(int64_t step, int64_t begin, int64_t end) {
  if (step <= begin) return 0.0;
  if (step >= end) return 1.0;  // also if `end` is not after `begin`
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

double progress_after_warmup(const OptimizerConfig& config, int64_t step, int64_t total_steps) {
  return progress(step, config.warmup_steps,
                  config.decay_steps > 0 ? config.decay_steps : total_steps);
}

double progress_at_the_end(const OptimizerConfig& config, int64_t step, int64_t total_steps) {
  const int64_t length =
      config.decay_steps > 0 ? config.decay_steps : std::max<int64_t>(total_steps / 10, 1);
  return progress(step, std::max(total_steps - length, config.warmup_steps), total_steps);
}

// Returns the factor of the rate: 1 for a share of 1, minimum_rate for a share of 0, and in
// proportion in between.
double above_minimum(const OptimizerConfig& config, double share) {
  return config.minimum_rate + (1.0 - config.minimum_rate) * share;
}

double cosine(const OptimizerConfig& config, int64_t step, int64_t total_steps) {
  const double done = progress_after_warmup(config, step, total_steps);
  return above_minimum(config, 0.5 * (1.0 + std::cos(std::numbers::pi * done)));
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
  if (config.schedule == "linear") {
    share = above_minimum(config, 1.0 - progress_after_warmup(config, step, total_steps));
  }
  if (config.schedule == "wsd") {
    share = above_minimum(config, 1.0 - progress_at_the_end(config, step, total_steps));
  }
  if (config.schedule == "inverse-sqrt") share = inverse_sqrt(config, step);
  if (config.schedule == "exponential") share = exponential(config, step);
  return config.learning_rate * share;
}

std::string rate_note(const OptimizerConfig& config, int64_t total_steps) {
  const bool never_reached = config.warmup_steps > total_steps;
  if (never_reached || (config.warmup_steps == total_steps && config.schedule != "constant")) {
    return "note: optimizer.warmup_steps = " + std::to_string(config.warmup_steps) +
           " leaves none of the " + std::to_string(total_steps) + " steps to schedule " +
           config.schedule +
           (never_reached ? ": the rate does not reach optimizer.learning_rate" : "");
  }
  if (config.decay_steps == 0) return "";
  const std::string given = "note: optimizer.decay_steps = " + std::to_string(config.decay_steps) +
                            " of schedule " + config.schedule;
  const int64_t most = std::max<int64_t>(total_steps - config.warmup_steps, 0);
  if (config.schedule == "wsd" && config.decay_steps > most) {
    return given + " is more than the " + std::to_string(most) +
           " steps after the warm-up: the rate falls over all of these";
  }
  if (config.schedule != "cosine" && config.schedule != "linear") return "";
  if (config.decay_steps <= config.warmup_steps) {
    return given + " is where the decay ends, and the warm-up ends after step " +
           std::to_string(config.warmup_steps) + ": the rate is the minimum from there on";
  }
  if (config.decay_steps > total_steps) {
    return given + " is where the decay ends, after the last step, " + std::to_string(total_steps) +
           ": the rate does not reach the minimum";
  }
  return "";
}

}  // namespace penstock
