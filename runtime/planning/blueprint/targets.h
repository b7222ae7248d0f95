// runtime/planning/blueprint/targets.h -- target_field(): finds the field of a data batch
// ("labels", say) that the losses of a network compare their predictions with.
//
// A training step divides the summed loss by the number of targets in the whole mini-batch. To
// count the targets it must know which field of the batch holds them.
#pragma once

#include <string>

#include "runtime/network/layers/layer.h"

namespace penstock {

struct TargetField {
  std::string name;  // of the field, such as "labels"
  // Whether layers other than losses read the field, too, as the first layer of an autoencoder
  // does.
  bool is_read = false;
};

// Returns the field that the last layer, which is the loss, names by Layer::targets(); where it
// names none, the one field that it reads. Throws Error(Input), naming the layer, where the last
// layer reads no field or several, or where another loss inside the network compares with another
// field, since all losses of a step are divided by the same number of targets.
[[nodiscard]] TargetField target_field(const Sequential& model);

}  // namespace penstock
