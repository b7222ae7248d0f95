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

// The bytes of a device's memory that so many bytes take.
[[nodiscard]] constexpr int64_t whole_lines(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// [batch, extents of the sample ...]
[[nodiscard]] Shape with_batch(int64_t batch, const Shape& sample);

// Numbers around zero, as activations and gradients are: products of zeros draw less power than
// those of a training run, and processors go faster. Ids and labels are 0, which is always valid.
// Purpose::Workspace; without values where the device holds none.
[[nodiscard]] Tensor probe_pattern(const Shape& shape, DType dtype, Device& device);

// A batch field as a loader gives it: the network's input, lengths, other tokens, or labels.
[[nodiscard]] Tensor probe_field(const std::string& name, const ProbeSetup& setup, Device& device);

// The fields that a layer reads of a batch, where the device has a copy of it. `first`: the layer
// is the first of its network.
[[nodiscard]] std::vector<DataField> fields_of(const Layer& layer, bool first,
                                               const ProbeSetup& setup);

}  // namespace penstock
