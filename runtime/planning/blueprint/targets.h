// runtime/planning/blueprint/targets.h -- which batch field the losses of a network compare with.
// Pure.
//
// A loss is a sum over its targets; the step divides it by how many there are in the whole
// mini-batch. So the field that has them must be known, whatever its name.
#pragma once

#include <string>

#include "runtime/network/layers/layer.h"

namespace penstock {

struct TargetField {
  std::string name;      // "labels"
  bool is_read = false;  // the network reads it too, as an autoencoder does
};

// By what the layers say (Layer::targets()); of a last layer that says nothing, the one field that
// it reads. Throws Error(Input) naming the layer when that is no one field, or when two losses
// compare with different ones: all are divided by the same number.
[[nodiscard]] TargetField target_field(const Sequential& model);

}  // namespace penstock
