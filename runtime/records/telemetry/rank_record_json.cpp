#include "runtime/records/telemetry/rank_record_json.h"

#include <nlohmann/json.hpp>

#include "kernels/error.h"

namespace penstock {

std::string to_json(const RankRecord& record) {
  const MemoryUse& memory = record.memory;
  return nlohmann::json{{"rank", record.rank},
                        {"stage", record.stage},
                        {"replica", record.replica},
                        {"host", record.host},
                        {"device", record.device},
                        {"layers", record.layers},
                        {"parameters", record.parameters},
                        {"current", memory.current},
                        {"peak", memory.peak},
                        {"total_current", memory.total_current},
                        {"total_peak", memory.total_peak},
                        {"reserved", memory.reserved},
                        {"system_allocations", memory.system_allocations},
                        {"snapshot_bytes", record.snapshot_bytes},
                        {"phase_s", record.phase_s},
                        {"busy_fraction", record.busy_fraction},
                        {"data_wait_ms", record.data_wait_ms},
                        {"data_waits", record.data_waits},
                        {"allocations_per_step", record.allocations_per_step},
                        {"primitives_per_step", record.primitives_per_step},
                        {"requests_per_step", record.requests_per_step},
                        {"commands_per_step", record.commands_per_step}}
      .dump();
}

RankRecord rank_record_from_json(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    RankRecord record;
    json.at("rank").get_to(record.rank);
    json.at("stage").get_to(record.stage);
    json.at("replica").get_to(record.replica);
    json.at("host").get_to(record.host);
    json.at("device").get_to(record.device);
    json.at("layers").get_to(record.layers);
    json.at("parameters").get_to(record.parameters);
    json.at("current").get_to(record.memory.current);
    json.at("peak").get_to(record.memory.peak);
    json.at("total_current").get_to(record.memory.total_current);
    json.at("total_peak").get_to(record.memory.total_peak);
    json.at("reserved").get_to(record.memory.reserved);
    json.at("system_allocations").get_to(record.memory.system_allocations);
    json.at("snapshot_bytes").get_to(record.snapshot_bytes);
    json.at("phase_s").get_to(record.phase_s);
    json.at("busy_fraction").get_to(record.busy_fraction);
    json.at("data_wait_ms").get_to(record.data_wait_ms);
    json.at("data_waits").get_to(record.data_waits);
    json.at("allocations_per_step").get_to(record.allocations_per_step);
    json.at("primitives_per_step").get_to(record.primitives_per_step);
    json.at("requests_per_step").get_to(record.requests_per_step);
    json.at("commands_per_step").get_to(record.commands_per_step);
    return record;
  } catch (const nlohmann::json::exception& error) {
    fail_internal(std::string("a rank sent a record that cannot be read: ") + error.what());
  }
}

}  // namespace penstock
