// runtime/records/checkpoint/writer/documents.h -- complete(): what rank 0 does once all shards are
// on disk: it writes the documents over them, gives the directory its final name and removes older
// checkpoints; and write_shard(), which every rank that writes calls.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/writer/shards.h"

namespace penstock {

// Writes the shard (its tensors lie on `device`, or in host memory where that is null) and returns
// its entry for Completion::reports.
[[nodiscard]] nlohmann::json write_shard(const std::string& directory, const std::string& file,
                                         const Shard& shard, Device* device);

struct Completion {
  CheckpointRequest request;  // its tensors are not used
  std::string directory;      // from begin_step()
  // By rank, packed_json() of {"shards": [what write_shard() returned, ...]} or {kind, error}.
  std::vector<std::string> reports;
};
// Completes the checkpoint, removes those that it makes obsolete, and returns {path, size_bytes,
// warning}, the warning saying what could not be removed. Throws the Error that a rank's report
// tells, or one of its own; then the partial directory is gone and earlier checkpoints are as they
// were.
[[nodiscard]] nlohmann::json complete(const Completion& completion);

}  // namespace penstock
