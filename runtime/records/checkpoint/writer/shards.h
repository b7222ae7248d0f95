// runtime/records/checkpoint/writer/shards.h -- which tensors of a checkpoint lie together in a
// file, and which replica writes it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"

namespace penstock {

struct Shard {
  std::string part;   // "model" | "optimizer"
  int64_t layer = 0;  // the layer whose tensors it has
  int64_t piece = 0;  // 0 but where a layer has several
  std::vector<PlacedTensor> tensors;
  [[nodiscard]] uint64_t size_bytes() const;
};

// Enough for a layer of most networks; a larger layer has several shards, which several replicas
// can write.
inline constexpr uint64_t kShardBytes = uint64_t{1} << 30;

// A shard for every layer, or several of at most `limit_bytes` in the order of names; a larger
// tensor has one to itself. Layers are never mixed: stages may be cut between any two.
[[nodiscard]] std::vector<Shard> cut_shards(const std::string& part,
                                            std::vector<PlacedTensor> tensors,
                                            uint64_t limit_bytes = kShardBytes);

// The replica that writes each shard, the same on all replicas: the largest shard comes first, and
// each goes to the replica that has the fewest bytes so far.
[[nodiscard]] std::vector<int> writers_of(const std::vector<Shard>& shards, int replicas);
// The shards that this replica writes.
[[nodiscard]] std::vector<Shard> share_of(std::vector<Shard> shards, int replica, int replicas);

// "model-00002-of-00004.safetensors".
[[nodiscard]] std::string shard_file(const std::string& part, int64_t number, int64_t total);

}  // namespace penstock
