// Every bad key is refused by name.
#include "runtime/network/optimizer/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Edit = std::function<void(OptimizerConfig&)>;

std::string refusal(const Edit& edit) {
  OptimizerConfig config;
  edit(config);
  try {
    validate(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "accepted";
}

TEST(ValidateOptimizer, AcceptsTheDefaultsAndTheLimits) {
  EXPECT_EQ(refusal([](OptimizerConfig&) {}), "accepted");
  EXPECT_EQ(refusal([](OptimizerConfig& c) {
              c.momentum = c.beta1 = c.beta2 = c.rms_decay = 0.0;
              c.decay_rate = c.minimum_rate = 1.0;
              c.no_decay = {"bias"};
            }),
            "accepted");
}

TEST(ValidateOptimizer, ListsWhatItKnows) {
  EXPECT_THAT(refusal([](OptimizerConfig& c) { c.kind = "adagrad"; }),
              AllOf(HasSubstr("optimizer.kind"), HasSubstr("adagrad"),
                    HasSubstr("sgd, rmsprop, adam, adamw, lion, muon, adafactor")));
  EXPECT_THAT(refusal([](OptimizerConfig& c) { c.schedule = "stepwise"; }),
              AllOf(HasSubstr("optimizer.schedule"),
                    HasSubstr("constant, cosine, linear, wsd, inverse-sqrt, exponential")));
}

TEST(ValidateOptimizer, RefusesEachKeyOutOfRange) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const char*, Edit>> bad = {
      {"learning_rate", [](OptimizerConfig& c) { c.learning_rate = 0.0; }},
      {"learning_rate", [](OptimizerConfig& c) { c.learning_rate = kInfinity; }},
      {"learning_rate", [](OptimizerConfig& c) { c.learning_rate = kNaN; }},
      {"adamw_rate", [](OptimizerConfig& c) { c.adamw_rate = -1.0; }},
      {"warmup_steps", [](OptimizerConfig& c) { c.warmup_steps = -1; }},
      {"decay_steps", [](OptimizerConfig& c) { c.decay_steps = -1; }},
      {"decay_steps", [](OptimizerConfig& c) { c.schedule = "exponential"; }},
      {"decay_rate", [](OptimizerConfig& c) { c.decay_rate = 0.0; }},
      {"decay_rate", [](OptimizerConfig& c) { c.decay_rate = 1.5; }},
      {"minimum_rate", [](OptimizerConfig& c) { c.minimum_rate = 1.5; }},
      {"weight_decay", [](OptimizerConfig& c) { c.weight_decay = -0.1; }},
      {"weight_decay", [](OptimizerConfig& c) { c.weight_decay = kNaN; }},
      {"no_decay",
       [](OptimizerConfig& c) {
         c.no_decay = {"bias", ""};
       }},
      {"clip_norm", [](OptimizerConfig& c) { c.clip_norm = -1.0; }},
      {"momentum", [](OptimizerConfig& c) { c.momentum = 1.0; }},
      {"momentum",
       [](OptimizerConfig& c) {
         c.kind = "sgd";
         c.nesterov = true;
         c.momentum = 0.0;
       }},
      {"beta1", [](OptimizerConfig& c) { c.beta1 = 1.0; }},
      {"beta2", [](OptimizerConfig& c) { c.beta2 = -0.5; }},
      {"rms_decay", [](OptimizerConfig& c) { c.rms_decay = 2.0; }},
      {"epsilon", [](OptimizerConfig& c) { c.epsilon = 0.0; }},
      {"moving_average", [](OptimizerConfig& c) { c.moving_average = 1.0; }},
  };
  for (const auto& [key, edit] : bad) {
    EXPECT_THAT(refusal(edit), HasSubstr(std::string("optimizer.") + key));
  }
}

}  // namespace
}  // namespace penstock
