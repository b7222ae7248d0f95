#include "runtime/network/optimizer/validate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <sstream>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr std::array kKinds = {"sgd", "rmsprop", "adam", "adamw", "lion", "muon", "adafactor"};
constexpr std::array kSchedules = {"constant", "cosine",       "linear",
                                   "wsd",      "inverse-sqrt", "exponential"};

void one_of(const char* key, const std::string& value, std::span<const char* const> known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string list;
  for (const char* name : known) list += (list.empty() ? "" : ", ") + std::string(name);
  fail_input("optimizer." + std::string(key) + " is \"" + value + "\": use one of " + list);
}

// Refuses the value if `ok` is false. Callers write the condition that must hold (not its
// opposite): comparisons with NaN are false, so a NaN is refused.
template <class T>
void require(bool ok, const char* key, T value, const char* range) {
  if (ok) return;
  std::ostringstream text;
  text << "optimizer." << key << " is " << value << ": it must be " << range;
  fail_input(text.str());
}

void validate_schedule(const OptimizerConfig& c) {
  one_of("schedule", c.schedule, kSchedules);
  require(c.warmup_steps >= 0, "warmup_steps", c.warmup_steps, "0 or more");
  require(c.decay_steps >= 0, "decay_steps", c.decay_steps, "0 or more");
  if (c.schedule == "exponential") {
    require(c.decay_steps > 0, "decay_steps", c.decay_steps,
            "at least 1 with schedule = \"exponential\" (steps per factor of decay_rate)");
  }
  require(c.decay_rate > 0.0 && c.decay_rate <= 1.0, "decay_rate", c.decay_rate, "in (0, 1]");
  require(c.minimum_rate >= 0.0 && c.minimum_rate <= 1.0, "minimum_rate", c.minimum_rate,
          "a share of learning_rate, in [0, 1]");
}

bool is_share(double value) {
  return value >= 0.0 && value < 1.0;
}

}  // namespace

void validate(const OptimizerConfig& c) {
  one_of("kind", c.kind, kKinds);
  if (c.sharded != "auto" && c.sharded != "true" && c.sharded != "false") {
    fail_input("optimizer.sharded is \"" + c.sharded + "\": use one of auto, true, false");
  }
  require(c.learning_rate > 0.0 && std::isfinite(c.learning_rate), "learning_rate", c.learning_rate,
          "a finite number above 0");
  validate_schedule(c);
  require(c.weight_decay >= 0.0 && std::isfinite(c.weight_decay), "weight_decay", c.weight_decay,
          "a finite number, 0 or more");
  for (const std::string& part : c.no_decay) {
    if (part.empty()) fail_input("optimizer.no_decay has an empty name part: remove it");
  }
  require(c.clip_norm >= 0.0 && std::isfinite(c.clip_norm), "clip_norm", c.clip_norm,
          "a finite number, 0 (off) or more");
  require(is_share(c.momentum), "momentum", c.momentum, "in [0, 1)");
  if (c.kind == "sgd" && c.nesterov) {
    require(c.momentum > 0.0, "momentum", c.momentum, "above 0 with nesterov = true");
  }
  require(is_share(c.beta1), "beta1", c.beta1, "in [0, 1)");
  require(is_share(c.beta2), "beta2", c.beta2, "in [0, 1)");
  require(is_share(c.rms_decay), "rms_decay", c.rms_decay, "in [0, 1)");
  require(c.epsilon > 0.0 && std::isfinite(c.epsilon), "epsilon", c.epsilon,
          "a finite number above 0");
  require(c.adamw_rate >= 0.0 && std::isfinite(c.adamw_rate), "adamw_rate", c.adamw_rate,
          "a finite number, 0 (learning_rate) or more");
  require(is_share(c.moving_average), "moving_average", c.moving_average, "in [0, 1), 0 is off");
}

}  // namespace penstock
