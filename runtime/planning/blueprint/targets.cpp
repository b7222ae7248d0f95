#include "runtime/planning/blueprint/targets.h"

#include <algorithm>

namespace penstock {
namespace {

std::string named(const Layer& layer) {
  return "layer '" + layer.name() + "' (" + layer.kind() + ")";
}

// The targets of the layer that ends the network.
std::string targets_of_loss(const Layer& loss) {
  if (!loss.targets().empty()) return loss.targets();
  const std::vector<std::string> fields = loss.reads();
  if (fields.size() == 1) return fields[0];
  fail_input(named(loss) + " is the network's loss and reads " + std::to_string(fields.size()) +
             " batch fields: say by Layer::targets() which of those it reads has its targets, by "
             "whose number the loss is divided");
}

}  // namespace

TargetField target_field(const Sequential& model) {
  TargetField field{targets_of_loss(*model.layers.back())};
  const auto reads = [&](const std::vector<std::string>& fields) {
    return std::ranges::find(fields, field.name) != fields.end();
  };
  field.is_read = reads(model.inputs);
  for (const auto& layer : model.layers) {
    const std::string targets = layer->targets();
    if (layer == model.layers.back()) continue;
    if (targets.empty()) {
      field.is_read = field.is_read || reads(layer->reads());
    } else if (targets != field.name) {
      fail_input("the losses of a network are divided by the same number of targets, but " +
                 named(*layer) + " compares with '" + targets + "' and " +
                 named(*model.layers.back()) + " with '" + field.name + "'");
    }
  }
  return field;
}

}  // namespace penstock
