// runtime/planning/schedule/search/kernel.h -- periodic_programs(): an order in which every
// micro-batch goes the same way through the ranks, one period after the one before it.
//
// It is found by modulo scheduling (Rau 1994): the parts of one micro-batch are placed on their
// ranks one after another, each as early as no part of it or of the others, a period apart, is in
// the way. Waits before parts are drawn until what the ranks hold is within their limits. The work
// of a try does not depend on the number of micro-batches.
#pragma once

#include <vector>

#include "runtime/planning/schedule/search/improve.h"
#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {

struct Period {
  double length = 0;
  std::vector<bool> whole = {};  // by stage: backwards run whole; empty: all in halves
  int tries = 1;                 // how many waits are drawn at most
};

// The programs of a whole step, which end the sooner the better they are timed anew (StepTimer);
// empty where none was found that keeps the period and the limits.
[[nodiscard]] Programs periodic_programs(const StepWork& work, const Period& period, Dice& dice);

}  // namespace penstock
