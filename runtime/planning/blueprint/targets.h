// runtime/planning/blueprint/targets.h -- target_field(): finds the batch field that the losses of
// a network compare with. Pure.
//
// A loss is a sum over its targets, which the step divides by the number of targets in the whole
// mini-batch. So it must know the field that holds them.
#pragma once

#include <string>

#include "runtime/network/layers/layer.h"

namespace penstock {

struct TargetField {
  std::string name;      // "labels"
  bool is_read = false;  // layers that are no losses read it too, as in an autoencoder
};

// The field that the last layer names (Layer::targets()) or, where it names none, the one field
// that it reads. Throws Error(Input) naming the layer where it reads no field or several, or where
// a loss inside the network compares with another field: all losses are divided by the same number.
[[nodiscard]] TargetField target_field(const Sequential& model);

}  // namespace penstock
