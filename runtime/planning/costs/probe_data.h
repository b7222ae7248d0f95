// runtime/planning/costs/probe_data.h -- makes up the inputs with which a single layer runs when
// its costs are measured (layer_probe.h): tensors like those of a training run, and the fields of a
// data batch that the layer reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// The settings that are the same for all layers of a network.
struct ProbeSetup {
  ModelInput input;            // shape and type of one sample
  MicroBatches micro_batches;  // the number of samples, and whether there are several per step
  DType dtype = DType::F32;    // of activations
  OptimizerConfig optimizer;
};

// The bytes that a tensor of `bytes` bytes takes in a device's memory: the next multiple of 64.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// The shape [batch, extents of the sample ...].
[[nodiscard]] Shape with_batch(int64_t batch, const Shape& sample);

// A tensor to copy inputs from. Floating-point tensors hold numbers around zero, as activations and
// gradients do: products of zeros would need less power, and processors would run faster than in
// training. Integer tensors (ids, labels) hold 0, which is always valid. On the counting device,
// which has no values, it has none. Its memory counts as Purpose::Workspace.
[[nodiscard]] Tensor probe_pattern(const Shape& shape, DType dtype, Device& device);

// The made-up values of the batch field `name` (such as the network's input, lengths or labels),
// with the shape in which a data loader gives it for one micro-batch.
[[nodiscard]] Tensor probe_field(const std::string& name, const ProbeSetup& setup, Device& device);

// The batch fields that a layer reads, each with its bytes for one micro-batch on a device with
// memory of its own. `first`: the layer is the first of its network, so that it reads the network's
// input, too.
[[nodiscard]] std::vector<DataField> fields_of(const Layer& layer, bool first,
                                               const ProbeSetup& setup);

}  // namespace penstock
