// runtime/planning/costs/kept_once.h -- KeptOnce: counts each tensor between two layers once, even
// where both keep it. A layer is charged with all outputs that it keeps, and with those inputs that
// it keeps and the layer before does not.
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
    int64_t own = 0;     // counted with this layer
    int64_t shared = 0;  // kept by this layer, but counted with an earlier one
  };
  // `data`: the bytes of the tensors that enter the first layer, which their loader keeps.
  explicit KeptOnce(std::vector<int64_t> data);
  // The share of the next layer; called for all layers of a network in order. `view_of`: the input
  // that each output is a view of, or -1.
  [[nodiscard]] Share next(const Layer& layer, const Kept& kept, const std::vector<int>& view_of);

 private:
  std::vector<int64_t> before_;  // by tensor that enters the next layer: bytes kept already
  std::unordered_map<std::string, int64_t> aside_;  // bytes kept of skips, by name
};

}  // namespace penstock
