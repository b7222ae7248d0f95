// runtime/planning/costs/kept_once.h -- KeptOnce: counts each tensor between two layers once,
// however many of them keep it. A layer is charged with all that it keeps of its outputs, and with
// what it keeps of its inputs unless a layer before it has kept them already.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/network/layers/layer.h"
#include "runtime/planning/costs/layer_probe.h"

namespace penstock {

class KeptOnce {
 public:
  // The bytes that one layer keeps.
  struct Share {
    int64_t own = 0;     // of this layer
    int64_t shared = 0;  // kept by this layer, but counted with one before
  };
  // `data`: the bytes of the tensors that enter the first layer, which their loader keeps.
  explicit KeptOnce(std::vector<int64_t> data);
  // The share of the next layer; called for the layers of a network in their order. `view_of` as in
  // ProbeMemory.
  [[nodiscard]] Share next(const Layer& layer, const Kept& kept, const std::vector<int>& view_of);

 private:
  std::vector<int64_t> before_;  // of the tensors that enter the next layer, bytes kept already
  std::unordered_map<std::string, int64_t> aside_;  // of skips, by name
};

}  // namespace penstock
