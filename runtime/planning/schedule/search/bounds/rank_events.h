// runtime/planning/schedule/search/bounds/rank_events.h -- what one rank, or a few, do with a
// micro-batch, and the times that pass at least between these events because of all other ranks.
//
// Other ranks are taken to be as fast as they can: they never wait for anything but their inputs,
// and for room in their memory.
#pragma once

#include <vector>

#include "runtime/planning/schedule/search/step_work.h"

namespace penstock {

// A forward or an input half with its recompute, of every micro-batch in turn.
struct RankEvent {
  int stage = 0;
  int rank = 0;  // its place among the ranks that are looked at
  bool backward = false;
  double time = 0;  // of the rank
};

// Returns the events in the order in which they come to a micro-batch: the forwards of the ranks'
// stages, and then the input halves in the opposite order, so the events at e and count - 1 - e are
// of one stage.
[[nodiscard]] std::vector<RankEvent> events_of(const StepWork& work, const std::vector<int>& ranks);

// The event at `to` of micro-batch j + behind begins no earlier than `wait` after the end of the
// event at `from` of micro-batch j. A wait below 0: the recompute of the later one may have begun.
struct Lag {
  int from = 0, to = 0, behind = 0;
  double wait = 0;
};

[[nodiscard]] std::vector<Lag> lags_of(const StepWork& work, const std::vector<RankEvent>& events);

}  // namespace penstock
