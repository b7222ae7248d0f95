// runtime/records/checkpoint/writer/documents.h -- the two pieces of work of writing a checkpoint,
// which run in threads (CheckpointWriter): write_shard(), by which each rank writes a file of
// tensors; then complete(), by which rank 0 writes the JSON files, gives the checkpoint its name
// and removes older ones.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/writer/shards.h"

namespace penstock {

// Writes the shard to the new file `directory`/`file`. Its tensors are in the memory of `device`;
// null: in host memory. Returns what complete() must know of the file (name, checksum, tensors),
// for Completion::reports. Throws Error(Resource).
[[nodiscard]] nlohmann::json write_shard(const std::string& directory, const std::string& file,
                                         const Shard& shard, Device* device);

struct Completion {
  CheckpointRequest request;  // its tensors are not read
  std::string directory;      // where the shards are: what begin_step() (layout.h) returned
  // By rank, packed_json() of {"shards": [what write_shard() returned, ...]}, or of {kind, error}
  // if the rank failed (outcome.h).
  std::vector<std::string> reports;
};
// Completes the checkpoint when all ranks have written their shards; called on rank 0. Removes the
// older checkpoints that request.retention does not keep. Returns {path, size_bytes, warning}, as
// CheckpointResult has them. Throws an Error if a rank has failed, or if it fails itself; then the
// directory is removed, and older checkpoints are untouched.
[[nodiscard]] nlohmann::json complete(const Completion& completion);

}  // namespace penstock
