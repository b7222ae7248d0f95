// runtime/records/sweep/tables/keys.h -- the keys that a sweep's grid varies, as columns of its
// tables.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// The keys that vary and that tables have no column of their own for (as they have for
// pipeline.stages, schedule, ...), in the order of the grid.
[[nodiscard]] std::vector<std::string> other_keys(const std::vector<ScalingRow>& rows);

// The value of that key in the point; empty if the point does not have it.
[[nodiscard]] std::string value_of(const SweepPoint& point, const std::string& key);

}  // namespace penstock
