// runtime/planning/schedule/search/greedy.h -- greedy_programs(): a good order of all instructions,
// made in the order of time: whenever a rank is free, it takes what is most urgent of what it can
// run.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planning/schedule/search/bounds/heads_and_tails.h"
#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {

// What a rank takes first where it can run several things.
enum class Urgency : uint8_t {
  InputsFirst,    // input halves, then forwards: 1F1B
  ForwardsFirst,  // forwards as far as memory and Policy::ahead let, then input halves
  LongestTail     // whatever has the longest way to the end of the step
};

struct Policy {
  Urgency urgency = Urgency::InputsFirst;
  // Weight halves fill waits. A rank waits for an input instead if it comes within this share of
  // the time of its weight half.
  double patience = 0;
  std::vector<int> ahead = {};   // by stage: the most micro-batches in flight; empty: what fits
  std::vector<bool> whole = {};  // by stage: backwards run whole; empty: all in halves
  std::vector<Urgency> of_stage = {};  // by stage, in place of `urgency`; empty: that
};

// Always complete and within the limits, in which one micro-batch at a time fits.
[[nodiscard]] Programs greedy_programs(const StepWork& work, const HeadsAndTails& known,
                                       const Policy& policy);

}  // namespace penstock
