// runtime/planning/costs/probe_data.h -- the inputs of a layer that runs alone: tensors like those
// of a training run, and the batch fields that it reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// The settings that all probes of a network share.
struct ProbeSetup {
  ModelInput input;
  MicroBatches micro_batches;
  DType dtype = DType::F32;
  OptimizerConfig optimizer;
};

// The bytes that a tensor of `bytes` bytes takes in a device's memory, which is given out in lines
// of 64 bytes.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// The shape [batch, extents of the sample ...].
[[nodiscard]] Shape with_batch(int64_t batch, const Shape& sample);

// A tensor (Purpose::Workspace) of numbers around zero, as activations and gradients are: with
// zeros, products would draw less power than in a training run, and processors run faster. Integers
// (ids, labels) are 0, which is always valid. The tensor has no values where the device holds none.
[[nodiscard]] Tensor probe_pattern(const Shape& shape, DType dtype, Device& device);

// The batch field of that name as a loader gives it: the network's input, lengths, other tokens, or
// labels.
[[nodiscard]] Tensor probe_field(const std::string& name, const ProbeSetup& setup, Device& device);

// The fields that a layer reads of a batch, with the bytes of their copies on a device with memory
// of its own. `first`: the layer is the first of its network, which reads the input, too.
[[nodiscard]] std::vector<DataField> fields_of(const Layer& layer, bool first,
                                               const ProbeSetup& setup);

}  // namespace penstock
