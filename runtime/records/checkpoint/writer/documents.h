// runtime/records/checkpoint/writer/documents.h -- what rank 0 does once all shards are on disk:
// the documents over them, the name of the whole, and the end of older checkpoints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/writer/shards.h"

namespace penstock {

// Writes the shard, in host memory where `device` is null, and returns what rank 0 must know of it.
[[nodiscard]] nlohmann::json write_shard(const std::string& directory, const std::string& file,
                                         const Shard& shard, Device* device);

// The tensors of `request` do not count here.
struct Completion {
  CheckpointRequest request;
  std::string directory;             // from begin_step()
  std::vector<std::string> reports;  // by rank: {"shards": [write_shard(), ...]} or an error
};
// Returns {path, size_bytes, warning}: the checkpoint is complete, and what it makes obsolete is
// gone or in the warning. Throws what a rank's report tells, or its own Error; then the partial
// directory is gone and earlier checkpoints are as they were.
[[nodiscard]] nlohmann::json complete(const Completion& completion);

}  // namespace penstock
