// runtime/planning/costs/kept_once.h -- KeptOnce: adds up the bytes that layers keep for their
// backwards, without counting a tensor twice that two neighbouring layers keep.
//
// The output of one layer is the input of the next, and both may keep it: the bytes of a run of
// layers are then less than the sum over the layers. KeptOnce walks through the layers in order and
// charges a layer with all outputs that it keeps, and with those inputs that it keeps and the layer
// before it does not.
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
  // The bytes that one layer keeps, in two parts.
  struct Share {
    int64_t own = 0;     // charged to this layer
    int64_t shared = 0;  // kept by this layer, too, but charged to an earlier one
  };
  // `data`: the bytes of each tensor that enters the first layer. The data loader keeps these, so
  // no layer is charged with them.
  explicit KeptOnce(std::vector<int64_t> data);
  // The share of the next layer. Must be called once for each layer of the network, in order.
  // `kept` says what the layer keeps when it runs alone (layer_probe.h). `view_of`, by output: the
  // number of the input whose memory the output shares (as after a reshape); -1: none.
  [[nodiscard]] Share next(const Layer& layer, const Kept& kept, const std::vector<int>& view_of);

 private:
  // One per tensor that enters the next layer: its bytes that an earlier layer keeps; 0: none does.
  std::vector<int64_t> before_;
  std::unordered_map<std::string, int64_t> aside_;  // the same for skip connections, by name
};

}  // namespace penstock
