#include "runtime/engine/pipeline/late_weights.h"

#include <utility>

namespace penstock {

LateWeights::LateWeights(std::span<const std::unique_ptr<Stage>> stages, ReduceGroup& group)
    : group_(group) {
  for (size_t s = 0; s < stages.size(); ++s) {
    for (const auto& shared : stages[s]->weights().shared_values()) parts_.push_back({s, shared});
    stages[s]->set_await_weights([this, s](size_t layer) { await(s, layer); });
  }
  arrived_ = parts_.size();
}

void LateWeights::start() {
  arrived_ = 0;
  for (const Part& part : parts_) group_.gather(part.shared.values, part.shared.cuts);
}

void LateWeights::await(size_t stage, size_t layer) {
  const std::pair<size_t, size_t> here{stage, layer};
  while (arrived_ < parts_.size()) {
    const Part& next = parts_[arrived_];
    if (std::pair{next.stage, next.shared.first_layer} > here) return;
    group_.wait(next.shared.values);
    if (++arrived_ == parts_.size()) group_.finish();
  }
}

void LateWeights::await_all() {
  if (arrived_ == parts_.size()) return;
  arrived_ = parts_.size();
  group_.finish();
}

}  // namespace penstock
