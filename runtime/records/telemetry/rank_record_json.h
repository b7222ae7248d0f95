// runtime/records/telemetry/rank_record_json.h -- turns a RankRecord (records.h: the numbers of one
// rank) into text and back, so that each rank can send its own to rank 0, which writes the summary.
#pragma once

#include <string>

#include "runtime/records/telemetry/records.h"

namespace penstock {

// The record as JSON text.
[[nodiscard]] std::string to_json(const RankRecord& record);
// Reads the text of to_json(). Throws Error(Internal) for any other text.
[[nodiscard]] RankRecord rank_record_from_json(const std::string& text);

}  // namespace penstock
