#include "runtime/planning/schedule/search/policies.h"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock {
namespace {

// The policy with a change of one stage, or of some that follow one another. `most`: by stage, how
// many can be in flight.
Policy changed(Policy policy, const std::vector<int>& most, Dice& dice) {
  const auto stages = static_cast<int>(most.size());
  const int first = dice.roll(stages);
  const bool one = dice.roll(2) == 0;
  const int last = one ? first : std::min(stages - 1, first + dice.roll(stages));
  const int step = dice.roll(2) == 0 ? -1 : 1;
  constexpr int kOfEight = 8;
  if (dice.roll(kOfEight) == 0) policy.patience = dice.roll(kOfEight + 1) / double{kOfEight};
  constexpr int kUrgencies = 3;
  const bool other = dice.roll(4) == 0;
  const auto urgency = static_cast<Urgency>(dice.roll(kUrgencies));
  if (policy.of_stage.empty()) policy.of_stage.assign(most.size(), policy.urgency);
  for (int s = first; s <= last; ++s) {
    policy.ahead[s] = std::clamp(std::min(policy.ahead[s], most[s]) + step, 1, most[s]);
    if (other) policy.of_stage[s] = urgency;
  }
  return policy;
}

}  // namespace

double improve_policy(const StepWork& work, Policy policy, double makespan,
                      const std::function<double(const Policy&)>& try_policy, const Effort& effort,
                      Dice& dice) {
  constexpr size_t kHistory = 32;
  const std::vector<int> most = most_in_flight(work);
  std::array<double, kHistory> history{};
  history.fill(makespan);
  double now = makespan;
  for (int64_t i = 0; i < effort.evaluations; ++i) {
    if ((effort.is_over && effort.is_over()) || makespan <= effort.good_enough) break;
    Policy other = changed(policy, most, dice);
    const double then = try_policy(other);
    makespan = std::min(makespan, then);
    double& before = history[i % kHistory];
    if (then <= now || then <= before) {
      policy = std::move(other);
      now = then;
    }
    before = now;
  }
  return makespan;
}

}  // namespace penstock
