// Ten steps of each optimizer against the textbook in double, and the decisions around them.
#include "runtime/network/optimizer/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/network/optimizer/rate.h"
#include "tests/unit/network/optimizer/update_device.h"

namespace penstock {
namespace {

using testing::ElementsAre;

constexpr int kSteps = 10;
constexpr double kScale = 0.5;  // as if clipped

double gradient_at(int step, int parameter, int64_t i) {
  return std::sin(1.0 + step + 0.37 * static_cast<double>(i) + 5.0 * parameter);
}

// Two parameters, of which the second is a norm, so weight decay spares it whatever it is called.
class Training {
 public:
  explicit Training(const OptimizerConfig& config)
      : config_(config), optimizer_(make_optimizer(config)) {
    Slot slots[2];
    set_.add(slots[0], "a.linear.weight", {3, 5}, {});
    set_.add(slots[1], "layers.1.weight", {3, 5}, {}, ParameterKind::Norm);
    for (Parameter& parameter : set_.declared().parameters) {
      parameter.weight = Weight(device_.empty(parameter.shape, DType::F32, Purpose::Parameters));
      parameter.gradient = device_.empty(parameter.shape, DType::F32, Purpose::Gradients);
      for (int i = 0; i < 15; ++i) parameter.weight.value().data<float>()[i] = start(i);
    }
    table_.emplace(set_);
    table_->bind();
    optimizer_->allocate(table_->entries(), device_);
  }

  static float start(int i) { return 0.25F * static_cast<float>(i - 7); }

  void step(int step) {
    for (int p = 0; p < 2; ++p) {
      for (int i = 0; i < 15; ++i) {
        entry(p).gradient.data<float>()[i] = static_cast<float>(gradient_at(step, p, i));
      }
    }
    optimizer_->step(learning_rate(config_, step, kSteps), kScale);
  }

  Optimizer& optimizer() { return *optimizer_; }
  UpdateDevice& device() { return device_; }
  StateEntry& entry(int p) { return *table_->entries()[static_cast<size_t>(p)]; }
  uint64_t version(int p) { return entry(p).holders.front()->weight.version(); }
  std::vector<KeptBeside> states() {
    std::vector<KeptBeside> all = kept_beside(entry(0));
    for (const KeptBeside& state : kept_beside(entry(1))) all.push_back(state);
    return all;
  }

 private:
  OptimizerConfig config_;
  UpdateDevice device_;
  ParameterSet set_;
  std::optional<StateTable> table_;
  std::unique_ptr<Optimizer> optimizer_;
};

// One element's state in double.
struct Element {
  double w, a, b = 0.0;
};
using Rule = void (*)(Element&, double gradient, double decay, double rate, int step,
                      const OptimizerConfig&);

void expect_follows(const OptimizerConfig& config, Rule rule) {
  Training training(config);
  for (int step = 1; step <= kSteps; ++step) training.step(step);
  for (int p = 0; p < 2; ++p) {
    const double decay = p == 0 ? config.weight_decay : 0.0;
    for (int i = 0; i < 15; ++i) {
      Element element{Training::start(i), config.kind == "rmsprop" ? 1.0 : 0.0};
      for (int step = 1; step <= kSteps; ++step) {
        rule(element, kScale * gradient_at(step, p, i), decay, learning_rate(config, step, kSteps),
             step, config);
      }
      const float found = training.entry(p).value.data<float>()[i];
      EXPECT_NEAR(found, element.w, 2e-6 * (1.0 + std::abs(element.w)))
          << config.kind << " parameter " << p << " element " << i;
    }
  }
}

OptimizerConfig config_of(const char* kind) {
  OptimizerConfig config;
  config.kind = kind;
  config.learning_rate = 0.05;
  config.schedule = "cosine";
  config.warmup_steps = 3;
  config.weight_decay = 0.2;
  return config;
}

void sgd_rule(Element& e, double g, double decay, double rate, int /*step*/,
              const OptimizerConfig& c) {
  g += decay * e.w;
  e.a = c.momentum * e.a + g;
  e.w -= rate * (c.nesterov ? g + c.momentum * e.a : e.a);
}

void rmsprop_rule(Element& e, double g, double decay, double rate, int /*step*/,
                  const OptimizerConfig& c) {
  g += decay * e.w;
  e.a = c.rms_decay * e.a + (1.0 - c.rms_decay) * g * g;
  e.b = c.momentum * e.b + rate * g / std::sqrt(e.a + c.epsilon);
  e.w -= e.b;
}

void adam_rule(Element& e, double g, double decay, double rate, int step,
               const OptimizerConfig& c) {
  if (c.kind == "adam") g += decay * e.w;
  if (c.kind == "adamw") e.w -= rate * decay * e.w;
  e.a = c.beta1 * e.a + (1.0 - c.beta1) * g;
  e.b = c.beta2 * e.b + (1.0 - c.beta2) * g * g;
  const double first = e.a / (1.0 - std::pow(c.beta1, step));
  const double second = e.b / (1.0 - std::pow(c.beta2, step));
  e.w -= rate * first / (std::sqrt(second) + c.epsilon);
}

void lion_rule(Element& e, double g, double decay, double rate, int /*step*/,
               const OptimizerConfig& c) {
  const double wanted = c.beta1 * e.a + (1.0 - c.beta1) * g;
  e.a = c.beta2 * e.a + (1.0 - c.beta2) * g;
  e.w -= rate * ((wanted > 0.0) - (wanted < 0.0) + decay * e.w);
}

TEST(Optimizer, SgdFollowsTheTextbook) {
  OptimizerConfig config = config_of("sgd");
  expect_follows(config, sgd_rule);
  config.nesterov = true;
  expect_follows(config, sgd_rule);
  config.nesterov = false;
  config.momentum = 0.0;
  expect_follows(config, sgd_rule);
}

TEST(Optimizer, RmsPropFollowsTheTextbook) {
  OptimizerConfig config = config_of("rmsprop");
  expect_follows(config, rmsprop_rule);
  config.momentum = 0.0;
  config.epsilon = 1.0;  // AmoebaNet's
  expect_follows(config, rmsprop_rule);
}

// Three steps of tf.compat.v1.train.RMSPropOptimizer as AmoebaNet had it, by hand: the mean of
// squares goes 1, 1.0, 1.3, 1.27.
TEST(Optimizer, RmsPropIsTensorFlows) {
  OptimizerConfig config;
  config.kind = "rmsprop";
  config.rms_decay = config.momentum = 0.9;
  config.epsilon = 1.0;
  UpdateDevice device;
  ParameterSet set;
  const Slot slot;
  Parameter& weight = set.add(slot, "a.weight", {1}, {});
  weight.weight = Weight(device.zeros({1}, DType::F32, Purpose::Parameters));
  weight.gradient = device.zeros({1}, DType::F32, Purpose::Gradients);
  float& w = weight.weight.value().data<float>()[0];
  w = 1.0F;
  StateTable table(set);
  table.bind();
  const auto optimizer = make_optimizer(config);
  optimizer->allocate(table.entries(), device);
  struct Row {
    float gradient;
    double weight;
  };
  for (const Row& row : {Row{1.0F, 0.929289322}, {2.0F, 0.733773617}, {-1.0F, 0.624181814}}) {
    weight.gradient.data<float>()[0] = row.gradient;
    optimizer->step(0.1, 1.0);
    EXPECT_NEAR(w, row.weight, 1e-6);
  }
}

TEST(Optimizer, AdamAndAdamWFollowTheTextbook) {
  OptimizerConfig config = config_of("adam");
  config.beta2 = 0.95;
  expect_follows(config, adam_rule);
  config.kind = "adamw";
  expect_follows(config, adam_rule);
}

TEST(Optimizer, LionFollowsItsPaper) {
  OptimizerConfig config = config_of("lion");
  config.beta2 = 0.99;
  expect_follows(config, lion_rule);
  config.beta1 = 0.5;
  expect_follows(config, lion_rule);
}

std::vector<std::string> state_names(const OptimizerConfig& config) {
  Training training(config);
  std::vector<std::string> names;
  for (const KeptBeside& state : training.states()) names.push_back(state.name);
  return names;
}

TEST(Optimizer, StateIsNamedByParameterAndSlot) {
  EXPECT_THAT(state_names(config_of("adamw")),
              ElementsAre("a.linear.weight.exp_avg", "a.linear.weight.exp_avg_sq",
                          "layers.1.weight.exp_avg", "layers.1.weight.exp_avg_sq"));
  EXPECT_THAT(state_names(config_of("sgd")),
              ElementsAre("a.linear.weight.momentum_buffer", "layers.1.weight.momentum_buffer"));
  EXPECT_THAT(state_names(config_of("rmsprop")),
              ElementsAre("a.linear.weight.square_avg", "a.linear.weight.momentum_buffer",
                          "layers.1.weight.square_avg", "layers.1.weight.momentum_buffer"));
  EXPECT_THAT(state_names(config_of("lion")),
              ElementsAre("a.linear.weight.exp_avg", "layers.1.weight.exp_avg"));
  OptimizerConfig plain = config_of("sgd");
  plain.momentum = 0.0;
  EXPECT_TRUE(state_names(plain).empty());
}

TEST(Optimizer, GoesOnToTheBitFromSavedState) {
  for (const char* kind : {"sgd", "rmsprop", "adam", "adamw", "lion", "muon", "adafactor"}) {
    Training whole(config_of(kind));
    Training resumed(config_of(kind));
    for (int step = 1; step <= 4; ++step) whole.step(step);
    for (int p = 0; p < 2; ++p) {
      std::ranges::copy(whole.entry(p).value.span<float>(),
                        resumed.entry(p).value.span<float>().begin());
    }
    const std::vector<KeptBeside> from = whole.states();
    const std::vector<KeptBeside> to = resumed.states();
    for (size_t i = 0; i < from.size(); ++i) {
      std::ranges::copy(from[i].tensor.span<float>(), to[i].tensor.span<float>().begin());
    }
    resumed.optimizer().set_steps(whole.optimizer().steps());
    for (int step = 5; step <= kSteps; ++step) {
      whole.step(step);
      resumed.step(step);
    }
    EXPECT_EQ(resumed.optimizer().steps(), kSteps);
    for (int p = 0; p < 2; ++p) {
      EXPECT_TRUE(std::ranges::equal(whole.entry(p).value.span<float>(),
                                     resumed.entry(p).value.span<float>()))
          << kind;
    }
  }
}

TEST(Optimizer, MarksWeightsChangedAndAllocatesNothingPerStep) {
  Training training(config_of("adamw"));
  training.step(1);
  const MemoryUse before = training.device().memory().use();
  const uint64_t version = training.version(1);
  training.step(2);
  EXPECT_EQ(training.version(1), version + 1);
  EXPECT_EQ(training.device().memory().use().total_peak, before.total_peak);
  EXPECT_EQ(training.device().memory().use().system_allocations, before.system_allocations);
  EXPECT_EQ(before.current_of(Purpose::Optimizer), 4 * 64);
}

TEST(Optimizer, RefusesUseInTheWrongOrder) {
  UpdateDevice device;
  ParameterSet set;
  const Slot slot;
  set.add(slot, "a.weight", {3}, {});
  const StateTable table(set);
  EXPECT_THROW(make_optimizer({})->step(0.1, 1.0), Error);
  EXPECT_THROW(make_optimizer({})->allocate(table.entries(), device), Error);
  OptimizerConfig unknown;
  unknown.kind = "adagrad";
  EXPECT_THROW((void)make_optimizer(unknown), Error);
}

bool spared(StateKind kind, const std::string& name, const OptimizerConfig& config) {
  StateEntry entry;
  entry.kind = kind;
  entry.name = name;
  return is_spared_decay(entry, config);
}

TEST(WeightDecay, SparesBiasesAndNormsByKindAndNotByName) {
  OptimizerConfig config;
  EXPECT_TRUE(spared(StateKind::Norm, "layers.1.weight", config));
  EXPECT_TRUE(spared(StateKind::Bias, "layers.1.shift", config));
  EXPECT_FALSE(spared(StateKind::Matrix, "norm.weight", config));
  config.decay_all = true;
  for (auto kind : {StateKind::Matrix, StateKind::Bias, StateKind::Norm}) {
    EXPECT_FALSE(spared(kind, "norm.bias", config));
  }
}

TEST(WeightDecay, SparesNamesThatMatchTheEndOfAComponent) {
  for (bool all : {false, true}) {
    OptimizerConfig config;
    config.decay_all = all;
    config.no_decay = {"bias", "norm"};
    for (const char* name : {"blocks.0.norm1.weight", "norm.weight", "stem.batch_norm12.weight",
                             "attention.query.bias", "in_proj_bias", "bias", "a.norm"}) {
      EXPECT_TRUE(spared(StateKind::Matrix, name, config)) << name;
    }
    for (const char* name : {"blocks.0.linear.weight", "normal.weight", "a.norm1x.weight",
                             "biased.weight", "norma.norms.weight", ""}) {
      EXPECT_FALSE(spared(StateKind::Matrix, name, config)) << name;
    }
    config.no_decay = {"embedding.position"};
    EXPECT_TRUE(spared(StateKind::Matrix, "embedding.position.weight", config));
    EXPECT_FALSE(spared(StateKind::Matrix, "embedding.token.weight", config));
  }
}

TEST(WeightDecay, PartsThatSpareNothingAreNoted) {
  const std::vector<std::string> names = {"blocks.0.norm1.weight", "classifier.bias"};
  OptimizerConfig config;
  EXPECT_EQ(decay_note(config, names), "");
  config.no_decay = {"bias", "norm"};
  EXPECT_EQ(decay_note(config, names), "");
  config.no_decay = {"bais", "norm", "LayerNorm.weight"};
  EXPECT_EQ(decay_note(config, names),
            "note: optimizer.no_decay: no parameter's name has the part 'bais', "
            "'LayerNorm.weight' (penstock inspect lists them)");
}

}  // namespace
}  // namespace penstock
