#include "runtime/records/telemetry/rank_record_json.h"

#include <nlohmann/json.hpp>

#include "kernels/error.h"

namespace penstock {

// These are the members of its record that a rank sends to rank 0. What the planner predicts of a
// rank is not among them: rank 0 knows it by itself.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryUse, current, peak, total_current, total_peak, reserved,
                                   system_allocations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankRecord, rank, stage, replica, host, device, layers,
                                   parameters, memory, snapshot_bytes, phase_s, busy_fraction,
                                   data_wait_ms, data_waits, allocations_per_step,
                                   primitives_per_step, requests_per_step, commands_per_step)

std::string to_json(const RankRecord& record) {
  return nlohmann::json(record).dump();
}

RankRecord rank_record_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<RankRecord>();
  } catch (const nlohmann::json::exception& error) {
    fail_internal(std::string("a rank sent a record that cannot be read: ") + error.what());
  }
}

}  // namespace penstock
