// runtime/records/checkpoint/writer/shards.h -- cut_shards(): groups the tensors of a checkpoint
// into shards, one file each; writers_of(): decides which replica writes which shard.
//
// A shard has tensors of one layer only, since the network may be cut into stages between any two
// layers: so the same files come out for every number of stages. All replicas of a stage hold the
// same tensors, or parts of them, and divide the writing among themselves. Each computes the same
// answer, without messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"

namespace penstock {

struct Shard {
  std::string part;   // "model" (weights and buffers) | "optimizer" (its state)
  int64_t layer = 0;  // whose tensors it has; numbered over the whole network
  int64_t piece = 0;  // its number among the shards of this layer and part, from 0
  std::vector<PlacedTensor> tensors;
  [[nodiscard]] uint64_t size_bytes() const;  // of its tensors, as whole ones
};

// The most bytes of a shard: enough for a layer of most networks. A larger layer has several, which
// several replicas can write.
inline constexpr uint64_t kShardBytes = uint64_t{1} << 30;

// Cuts `tensors`, which are all of one `part`, into shards: one for each layer, or, for a layer of
// more than `limit_bytes`, several of at most `limit_bytes` each. A tensor that is larger than that
// has a shard of its own. Tensors are sorted by name within a layer.
[[nodiscard]] std::vector<Shard> cut_shards(const std::string& part,
                                            std::vector<PlacedTensor> tensors,
                                            uint64_t limit_bytes = kShardBytes);

// Returns, for each shard, the number of the replica that writes it. The shards are given out from
// the largest to the smallest, each to the replica that has the fewest bytes so far.
[[nodiscard]] std::vector<int> writers_of(const std::vector<Shard>& shards, int replicas);
// Returns those of `shards` that replica number `replica` writes, by writers_of().
[[nodiscard]] std::vector<Shard> share_of(std::vector<Shard> shards, int replica, int replicas);

// The name of a shard's file: "model-00002-of-00004.safetensors" for shard number 2, counted from
// 1, of the `total` = 4 shards that the checkpoint has of the part "model".
[[nodiscard]] std::string shard_file(const std::string& part, int64_t number, int64_t total);

}  // namespace penstock
