// runtime/records/telemetry/rank_record_json.h -- a RankRecord as text and back, for the way from a
// rank to rank 0.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

[[nodiscard]] std::string to_json(const RankRecord& record);
// Throws Error(Internal) when the text is not what to_json() wrote.
[[nodiscard]] RankRecord rank_record_from_json(const std::string& text);

}  // namespace penstock
