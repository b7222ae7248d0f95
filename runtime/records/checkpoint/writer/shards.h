// runtime/records/checkpoint/writer/shards.h -- cuts the tensors of a checkpoint into shards, one
// file each, and says which replica writes each. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"

namespace penstock {

struct Shard {
  std::string part;   // "model" | "optimizer"
  int64_t layer = 0;  // the layer whose tensors it has
  int64_t piece = 0;  // its number among the layer's shards
  std::vector<PlacedTensor> tensors;
  [[nodiscard]] uint64_t size_bytes() const;
};

// The most bytes of a shard: enough for a layer of most networks. A larger layer has several, which
// several replicas can write.
inline constexpr uint64_t kShardBytes = uint64_t{1} << 30;

// A shard for every layer, or several of at most `limit_bytes`, with tensors by name; a tensor
// above that has a shard to itself. Layers are never mixed, since stages may be cut between any
// two.
[[nodiscard]] std::vector<Shard> cut_shards(const std::string& part,
                                            std::vector<PlacedTensor> tensors,
                                            uint64_t limit_bytes = kShardBytes);

// The replica that writes each shard: from the largest shard on, each goes to the replica that has
// the fewest bytes so far. The result is the same on all replicas.
[[nodiscard]] std::vector<int> writers_of(const std::vector<Shard>& shards, int replicas);
// The shards that this replica writes.
[[nodiscard]] std::vector<Shard> share_of(std::vector<Shard> shards, int replica, int replicas);

// The name of a shard's file: "model-00002-of-00004.safetensors".
[[nodiscard]] std::string shard_file(const std::string& part, int64_t number, int64_t total);

}  // namespace penstock
