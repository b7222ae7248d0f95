// runtime/planning/schedule/search/policies.h -- improve_policy(): finds a policy with a shorter
// greedy order (greedy.h) by small changes to a policy.
#pragma once

#include <functional>

#include "runtime/planning/schedule/search/greedy.h"
#include "runtime/planning/schedule/search/improve.h"

namespace penstock {

// Tries changes of the policy, whose greedy order has a step of `makespan`: some stages have one
// more or one less in flight, and now and then another urgency, or all another patience. A change
// is kept by late acceptance, as in improve.h. `try_policy` is given each policy once and returns
// how long the step of its order is. `policy.ahead` has a number for each stage. `effort.is_over`
// is asked before each change. Returns the shortest step, `makespan` where none is shorter.
double improve_policy(const StepWork& work, Policy policy, double makespan,
                      const std::function<double(const Policy&)>& try_policy, const Effort& effort,
                      Dice& dice);

}  // namespace penstock
