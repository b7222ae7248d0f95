// launch/program/sweep/host_cores.h -- tells where a sweep asks more of a host than it has cores
// for.
#pragma once

#include <optional>
#include <string>

#include "launch/program/sweep/points.h"

namespace penstock {

// A note for the user where the points that are started on this host have more ranks, or threads of
// ranks, than its `cores`: forecasts believe in a core for each. Null: there are enough.
[[nodiscard]] std::optional<std::string> core_note(const DrawnSweep& drawn, int cores);

}  // namespace penstock
