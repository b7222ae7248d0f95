// runtime/planning/blueprint/targets.h -- the batch field that the losses of a network compare
// with. Pure.
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

// The field that the layers name (Layer::targets()); where the last layer names none, the one field
// that it reads. Throws Error(Input) naming the layer when it reads no field or several, or when
// two losses compare with different ones: all are divided by the same number.
[[nodiscard]] TargetField target_field(const Sequential& model);

}  // namespace penstock
