// runtime/records/sweep/repeats.h -- combined(): makes one outcome of all the runs of a point of a
// sweep, which is run several times where sweep.repeats asks for it.
#pragma once

#include <vector>

#include "runtime/records/sweep/outcome.h"

namespace penstock {

// The outcome of a point from those of its runs, of which there is at least one; a single one is
// returned as it is. State, reason and steps are those of the run that is most worth telling: one
// that runs, else one that failed, was interrupted, was submitted or waits, else one that finished.
// The numbers are of the finished runs or, where none has finished, of those that have begun: loss
// and bubble are means, and the memory is the largest.
[[nodiscard]] Outcome combined(const std::vector<Outcome>& runs);

// How many of the runs have finished.
[[nodiscard]] size_t finished_of(const std::vector<Outcome>& runs);

}  // namespace penstock
