// runtime/planning/schedule/search/bounds/certificate.h -- Certificate: a schedule, what its step
// takes, and how short a step of any schedule can be at best, so that anybody can check both
// without the search.
//
// certify() makes one of any schedule. check_certificate() takes nothing in it on trust: it proves
// and times the schedule by the schedule room's own means, and each bound by heads and tails that
// it works out anew from the problem, or tries all orders, of all ranks or of one, once more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/bounds/rank_orders.h"
#include "runtime/planning/schedule/search/problem.h"

namespace penstock {

struct Certificate {
  SearchProblem problem = {};
  Schedule schedule = {};  // compute instructions alone
  double makespan = 0;     // proved_makespan()
  // No schedule with the problem's placement takes less: the largest below, or the makespan where
  // all orders of a small problem have been tried (exact.h).
  double bound = 0;
  double gap = 0;  // the share by which the makespan is above the bound; 0 without a bound
  bool all_orders_tried = false;
  std::vector<WorkBound> work = {};        // one per rank
  std::vector<MemoryBound> memory = {};    // one for each rank that has a limit
  std::optional<OrdersBound> orders = {};  // where it says more than all of those
};

// How much is done for a high bound.
enum class BoundEffort : uint8_t {
  Usual,
  Thorough  // tries the orders of some ranks, too, where a gap is left, which takes seconds
};

// `schedule` has compute instructions alone. Throws where the problem or the schedule is refused
// (check_problem(), verify()) or passes a limit.
[[nodiscard]] Certificate certify(const SearchProblem& problem, const Schedule& schedule,
                                  BoundEffort effort = BoundEffort::Usual);

// Throws for the first thing that does not hold, with what is said and what is so. Sums may differ
// by a billionth, since machines round differently.
void check_certificate(const Certificate& certificate);

}  // namespace penstock
