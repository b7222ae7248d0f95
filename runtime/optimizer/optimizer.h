// runtime/optimizer/optimizer.h -- Optimizer: updates the parameters that one rank holds.
//
// Knows no ranks: gradients arrive summed, and clipping arrives as a factor. The arithmetic is in
// kernels/ops/update.h; the rate of a step is runtime/optimizer/rate.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/autograd/parameter.h"
#include "runtime/optimizer/config.h"
#include "runtime/optimizer/state.h"

namespace penstock {

// True when weight decay leaves the parameter alone: a bias or a norm, unless decay_all is set; or
// some part of no_decay occurs in its name so that only digits stand between it and the end of a
// dot-separated component: "norm" spares blocks.0.norm1.weight and attention_norm.weight but not
// normal.weight; "embedding.position" spares embedding.position.weight.
[[nodiscard]] bool is_spared_decay(const Parameter& parameter, const OptimizerConfig& config);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Makes the state tensors (Purpose::Optimizer, at their first values). Parameters and device must
  // outlive this object. Once; the parameters' weights and gradients must exist.
  void allocate(std::span<Parameter* const> parameters, Device& device);

  // Updates every parameter in the given order from its gradient times gradient_scale.
  // Allocates no tensors.
  void step(double learning_rate, double gradient_scale);

  // All state tensors, for a checkpoint to write or to read into.
  [[nodiscard]] std::vector<StateTensor> state() const;
  // Steps taken so far, over all runs: Adam's bias correction depends on it.
  [[nodiscard]] int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }  // on resuming

 protected:
  // A state tensor that each parameter needs, and the value of all its elements before step 1.
  struct Slot {
    std::string name;
    float first = 0.0F;
  };
  using Slots = std::vector<Slot>;
  struct Entry {
    Parameter* parameter;
    float weight_decay;          // 0 for the spared
    std::vector<Tensor> states;  // one per slot
  };
  Optimizer(const OptimizerConfig& config, Slots slots);

  [[nodiscard]] const OptimizerConfig& config() const { return config_; }
  // The state tensor of that slot; empty where there is no such slot.
  [[nodiscard]] static Tensor state_of(const Entry& entry, size_t slot) {
    return slot < entry.states.size() ? entry.states[slot] : Tensor();
  }
  // One op for all the entries.
  virtual void update(UpdateOps& ops, std::span<const Entry> entries, float learning_rate,
                      float scale) = 0;

 private:
  OptimizerConfig config_;
  Slots slots_;
  std::vector<Entry> entries_;
  Device* device_ = nullptr;
  int64_t steps_ = 0;
};

// Throws Error(Input) as validate() does (runtime/optimizer/validate.h).
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace penstock
