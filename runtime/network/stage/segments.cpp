#include "runtime/network/stage/segments.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace penstock {
namespace {

// Returns the segment of layers [first, last), with the skips that enter it from layers before and
// the skips that leave it for layers behind.
SegmentPlan cut_out(const StagePlan& stage, size_t first, size_t last) {
  const auto within = [&](const std::vector<int>& of_layer, int skip) {
    const auto begin = of_layer.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(last);
    return std::find(begin + static_cast<std::ptrdiff_t>(first), end, skip) != end;
  };
  SegmentPlan plan{.first = first, .last = last};
  for (size_t i = first; i < last; ++i) {
    const int popped = stage.pop[i];
    const int stashed = stage.stash[i];
    if (popped >= 0 && !within(stage.stash, popped)) plan.entering.push_back(popped);
    if (stashed >= 0 && !within(stage.pop, stashed)) plan.leaving.push_back(stashed);
  }
  return plan;
}

}  // namespace

StagePlan plan_stage(std::span<const std::unique_ptr<Layer>> layers, size_t length,
                     size_t untrained) {
  StagePlan plan;
  std::map<std::string, int> numbers;
  const auto number_of = [&](const std::string& skip) {
    if (skip.empty()) return -1;
    return numbers.emplace(skip, static_cast<int>(numbers.size())).first->second;
  };
  for (const auto& layer : layers) {
    plan.pop.push_back(number_of(layer->pops()));
    plan.stash.push_back(number_of(layer->stashes()));
  }
  plan.skips = static_cast<int>(numbers.size());
  const SegmentPlan whole = cut_out(plan, 0, layers.size());
  plan.entering = whole.entering;
  plan.leaving = whole.leaving;
  for (size_t first = 0; first < layers.size();) {
    const size_t end = first < untrained ? untrained : layers.size();
    const size_t last = std::min(first + length, end);
    plan.segments.push_back(cut_out(plan, first, last));
    first = last;
  }
  return plan;
}

void lay_aside(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips) {
  const size_t chain = tuple.size() - numbers.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    skips[static_cast<size_t>(numbers[i])] = std::move(tuple[chain + i]);
  }
  tuple.resize(chain);
}

void take_along(Tensors& tuple, const std::vector<int>& numbers, Tensors& skips) {
  for (int number : numbers) tuple.push_back(std::move(skips[static_cast<size_t>(number)]));
}

}  // namespace penstock
