#include "runtime/planning/costs/kept_once.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace penstock {

KeptOnce::KeptOnce(std::vector<int64_t> data) : before_(std::move(data)) {}

KeptOnce::Share KeptOnce::next(const Layer& layer, const Kept& kept,
                               const std::vector<int>& view_of) {
  if (!layer.pops().empty()) before_.push_back(aside_.at(layer.pops()));
  Share share{std::accumulate(kept.outputs.begin(), kept.outputs.end(), kept.own), 0};
  for (size_t i = 0; i < before_.size(); ++i) {
    (before_[i] > 0 ? share.shared : share.own) += kept.inputs[i];
  }
  std::vector<int64_t> after = kept.outputs;
  for (size_t i = 0; i < after.size(); ++i) {
    if (view_of[i] < 0) continue;
    const auto input = static_cast<size_t>(view_of[i]);
    after[i] = std::max(before_[input], kept.inputs[input]);
  }
  before_ = std::move(after);
  if (!layer.stashes().empty()) {
    aside_[layer.stashes()] = before_.back();
    before_.pop_back();
  }
  return share;
}

}  // namespace penstock
