// runtime/planning/schedule/search/bounds/rank_orders.h -- a lower bound that knows that a rank
// does one thing at a time: all orders of one rank, or of a few together, are tried, while the
// others are as fast as they can.
//
// What another rank does between two instructions of these is a time that passes at least: the way
// of a micro-batch through the stages between, and where another rank has no room for more, the way
// of the next one there and back. In that time these ranks do other things or wait, and where
// nothing fits exactly, each micro-batch costs a little, which heads and tails of parts do not see.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"

namespace penstock {

inline constexpr size_t kMostRanksTogether = 5;  // of which all orders are tried

// No order of these ranks' instructions lets the step end before `total`.
struct OrdersBound {
  std::vector<int> ranks = {};  // ascending, each once, at most kMostRanksTogether
  double total = 0;
};

// Whether that is so. Some ways to begin an order are replaced by one that is better than each of
// them where there are too many, so "no" says nothing. The work is bounded: a second or so.
[[nodiscard]] bool no_order_ends_before(const StepWork& work, const HeadsAndTails& known,
                                        const OrdersBound& bound);

// A bound above `known_bound` and up to `makespan`, within some thousandths, of one rank or some of
// them; nothing where those that are tried say no more. Takes some seconds at most.
[[nodiscard]] std::optional<OrdersBound> orders_bound(const StepWork& work,
                                                      const HeadsAndTails& known,
                                                      double known_bound, double makespan);

}  // namespace penstock
