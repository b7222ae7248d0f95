// tests/unit/planning/schedule/search/all_orders.h -- the best schedule of a small problem by
// trying all.
#pragma once

#include "runtime/planning/schedule/search/problem.h"

namespace penstock {

// The shortest step of all orders and splits of a problem. The time grows with the power of ranks:
// three ranks of a stage with three micro-batches take 74,088 orders, more where whole backwards
// are shorter than two halves or a rank holds several stages.
double best_of_all_orders(const SearchProblem& problem);

}  // namespace penstock
