#include "runtime/records/checkpoint/writer/shards.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <tuple>
#include <utility>

namespace penstock {

uint64_t Shard::size_bytes() const {
  uint64_t total = 0;
  for (const PlacedTensor& tensor : tensors) total += tensor.size_bytes();
  return total;
}

std::vector<Shard> cut_shards(const std::string& part, std::vector<PlacedTensor> tensors,
                              uint64_t limit_bytes) {
  std::sort(tensors.begin(), tensors.end(), [](const PlacedTensor& a, const PlacedTensor& b) {
    return std::tie(a.layer, a.named.name) < std::tie(b.layer, b.named.name);
  });
  std::vector<Shard> shards;
  uint64_t bytes = 0;  // of the last shard so far
  for (PlacedTensor& tensor : tensors) {
    const uint64_t more = tensor.size_bytes();
    const bool same_layer = !shards.empty() && shards.back().layer == tensor.layer;
    if (!same_layer || bytes + more > limit_bytes) {
      shards.push_back({part, tensor.layer, same_layer ? shards.back().piece + 1 : 0, {}});
      bytes = 0;
    }
    bytes += more;
    shards.back().tensors.push_back(std::move(tensor));
  }
  return shards;
}

std::vector<int> writers_of(const std::vector<Shard>& shards, int replicas) {
  std::vector<size_t> order(shards.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return shards[a].size_bytes() > shards[b].size_bytes();
  });
  std::vector<uint64_t> load(static_cast<size_t>(replicas));
  std::vector<int> writers(shards.size());
  for (const size_t shard : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += shards[shard].size_bytes();
    writers[shard] = static_cast<int>(least - load.begin());
  }
  return writers;
}

std::vector<Shard> share_of(std::vector<Shard> shards, int replica, int replicas) {
  const std::vector<int> writers = writers_of(shards, replicas);
  std::vector<Shard> mine;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (writers[i] == replica) mine.push_back(std::move(shards[i]));
  }
  return mine;
}

std::string shard_file(const std::string& part, int64_t number, int64_t total) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s-%05lld-of-%05lld.safetensors", part.c_str(),
                static_cast<long long>(number), static_cast<long long>(total));
  return name.data();
}

}  // namespace penstock
