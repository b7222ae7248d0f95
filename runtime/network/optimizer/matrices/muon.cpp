#include "runtime/network/optimizer/matrices/muon.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"
#include "runtime/network/optimizer/matrices/newton_schulz.h"

namespace penstock {
namespace {

// The matrices of a weight: itself, or, of a mixture of experts [experts, out, in], one for each.
struct Matrices {
  int64_t count;
  MatrixSize size;  // of each
};
Matrices matrices_of(const Shape& weight) {
  if (weight.rank() == 3) return {weight[0], {weight[1], weight[2]}};
  return {1, matrix_size(weight)};
}

class Muon final : public Optimizer {
 public:
  explicit Muon(const OptimizerConfig& c) : Optimizer(c, {{"momentum_buffer"}}) {}

 private:
  [[nodiscard]] const Slots& slots_of(const StateEntry& entry) const override {
    return entry.updated_whole ? Optimizer::slots_of(entry) : adam_slots_;
  }

  void allocate_scratch(StateRange entries, Device& device) override {
    std::vector<MatrixSize> matrices;
    for (const StateEntry* e : entries) {
      if (e->updated_whole) matrices.push_back(matrices_of(e->value.shape()).size);
    }
    if (!matrices.empty()) newton_schulz_.allocate(matrices, device);
  }

  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      if (e->updated_whole) {
        const auto [count, size] = matrices_of(e->value.shape());
        for (int64_t i = 0; i < count; ++i) {
          update_matrix(device, *e, i * size.elements(), size, learning_rate, scale);
        }
      } else {
        list_.push_back({e->own_part(e->value), state_of(*e, 0), state_of(*e, 1),
                         e->own_part(e->gradient), decay_of(*e)});
      }
    }
    const auto relative = static_cast<float>(
        config().adamw_rate > 0.0 ? config().adamw_rate / config().learning_rate : 1.0);
    device.update().adam(list_, {.learning_rate = learning_rate * relative,
                                 .beta1 = static_cast<float>(config().beta1),
                                 .beta2 = static_cast<float>(config().beta2),
                                 .epsilon = static_cast<float>(config().epsilon),
                                 .scale = scale,
                                 .decoupled = true,
                                 .step = steps()});
    list_.clear();
  }

  // Updates the matrix of that size that begins at element `first` of the entry.
  void update_matrix(Device& device, const StateEntry& e, int64_t first, const MatrixSize& size,
                     float learning_rate, float scale) {
    const auto own = [&](const Tensor& all) { return all.view(first, {size.elements()}); };
    PointwiseOps& pointwise = device.pointwise();
    const auto momentum = static_cast<float>(config().momentum);
    Tensor mean = own(state_of(e, 0));
    Tensor ahead = newton_schulz_.matrix(size);
    Tensor spare = newton_schulz_.spare(size);
    pointwise.scale(ahead, own(e.gradient), (1.0F - momentum) * scale);
    pointwise.scale(mean, mean, momentum);
    pointwise.accumulate(mean, ahead);
    pointwise.scale(spare, mean, momentum);
    pointwise.accumulate(ahead, spare);
    const Tensor direction = newton_schulz_.orthogonalize(size);
    const auto longer = static_cast<double>(std::max(size.rows, size.columns));
    const SgdTensors moved{own(e.value), {}, direction, decay_of(e)};
    device.update().sgd({&moved, 1}, {.learning_rate = learning_rate,
                                      .momentum = 0.0F,
                                      .scale = static_cast<float>(0.2 * std::sqrt(longer)),
                                      .nesterov = false});
  }

  const Slots adam_slots_ = {{"exp_avg"}, {"exp_avg_sq"}};
  NewtonSchulz newton_schulz_;
  std::vector<AdamTensors> list_;  // empty between updates, which reuse its memory
};

}  // namespace

std::unique_ptr<Optimizer> make_muon(const OptimizerConfig& config) {
  return std::make_unique<Muon>(config);
}

}  // namespace penstock
