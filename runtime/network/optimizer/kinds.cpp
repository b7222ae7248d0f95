// runtime/network/optimizer/kinds.cpp -- the optimizers: which state each keeps and which op it
// runs.
#include "kernels/ops/update.h"
#include "runtime/network/optimizer/matrices/adafactor.h"
#include "runtime/network/optimizer/matrices/muon.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/network/optimizer/validate.h"

namespace penstock {
namespace {

// This is stochastic gradient descent with heavy-ball or Nesterov momentum, as PyTorch computes it.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& c)
      : Optimizer(c, c.momentum > 0.0 ? Slots{{"momentum_buffer"}} : Slots{}) {}

 private:
  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      list_.push_back(
          {e->own_part(e->value), state_of(*e, 0), e->own_part(e->gradient), decay_of(*e)});
    }
    device.update().sgd(list_, {.learning_rate = learning_rate,
                                .momentum = static_cast<float>(config().momentum),
                                .scale = scale,
                                .nesterov = config().nesterov});
    list_.clear();
  }

  std::vector<SgdTensors> list_;  // empty between updates, which reuse its memory
};

// This is RMSprop (Tieleman & Hinton 2012) as TensorFlow computes it, and as AmoebaNet was trained
// (Real et al. 2019, with an epsilon of 1). The mean of squares starts at 1, so the first steps are
// not long ones, and epsilon is added inside the root. In PyTorch the mean starts at 0, and epsilon
// is added outside.
class RmsProp final : public Optimizer {
 public:
  explicit RmsProp(const OptimizerConfig& c)
      : Optimizer(c, c.momentum > 0.0 ? Slots{{"square_avg", 1.0F}, {"momentum_buffer"}}
                                      : Slots{{"square_avg", 1.0F}}) {}

 private:
  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      list_.push_back({e->own_part(e->value), state_of(*e, 0), state_of(*e, 1),
                       e->own_part(e->gradient), decay_of(*e)});
    }
    device.update().rmsprop(list_, {.learning_rate = learning_rate,
                                    .decay = static_cast<float>(config().rms_decay),
                                    .momentum = static_cast<float>(config().momentum),
                                    .epsilon = static_cast<float>(config().epsilon),
                                    .scale = scale});
    list_.clear();
  }

  std::vector<RmsPropTensors> list_;  // empty between updates, which reuse its memory
};

// This is Adam (Kingma & Ba 2015) or AdamW (Loshchilov & Hutter 2019). They differ in one flag,
// which says whether weight decay is decoupled from the moments.
class Adam final : public Optimizer {
 public:
  explicit Adam(const OptimizerConfig& c) : Optimizer(c, {{"exp_avg"}, {"exp_avg_sq"}}) {}

 private:
  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      list_.push_back({e->own_part(e->value), state_of(*e, 0), state_of(*e, 1),
                       e->own_part(e->gradient), decay_of(*e)});
    }
    device.update().adam(list_, {.learning_rate = learning_rate,
                                 .beta1 = static_cast<float>(config().beta1),
                                 .beta2 = static_cast<float>(config().beta2),
                                 .epsilon = static_cast<float>(config().epsilon),
                                 .scale = scale,
                                 .decoupled = config().kind == "adamw",
                                 .step = steps()});
    list_.clear();
  }

  std::vector<AdamTensors> list_;  // empty between updates, which reuse its memory
};

// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms") moves a weight by the
// sign of a mean of gradients. Its weight decay is decoupled, like that of AdamW.
class Lion final : public Optimizer {
 public:
  explicit Lion(const OptimizerConfig& c) : Optimizer(c, {{"exp_avg"}}) {}

 private:
  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      list_.push_back(
          {e->own_part(e->value), state_of(*e, 0), e->own_part(e->gradient), decay_of(*e)});
    }
    device.update().lion(list_, {.learning_rate = learning_rate,
                                 .beta1 = static_cast<float>(config().beta1),
                                 .beta2 = static_cast<float>(config().beta2),
                                 .scale = scale});
    list_.clear();
  }

  std::vector<LionTensors> list_;  // empty between updates, which reuse its memory
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  validate(config);
  if (config.kind == "sgd") return std::make_unique<Sgd>(config);
  if (config.kind == "rmsprop") return std::make_unique<RmsProp>(config);
  if (config.kind == "adafactor") return make_adafactor(config);
  if (config.kind == "muon") return make_muon(config);
  if (config.kind == "lion") return std::make_unique<Lion>(config);
  return std::make_unique<Adam>(config);
}

}  // namespace penstock
