// runtime/planning/costs/layer_costs.h -- time and memory of every layer of a network, without
// training it: counted on a device that computes nothing, or measured on the real one.
//
// Both walk over the layers, make a Stage of each alone, run every verb on tensors of the inferred
// shapes and read the accounts of the device's memory; only the meter around the verbs differs. One
// layer at a time is on the device, so a network too large for a device is measured on it all the
// same. Of equal layers one is run. Other stages may hold the layers at the same time.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/device_model.h"
#include "runtime/network/layers/layer.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// The costs by the model of a device. `dtype` is that of activations. Throws Error(Input) for a
// layer that its inputs do not fit.
[[nodiscard]] ModelCosts counted_costs(const Sequential& model, const ModelInput& input,
                                       MicroBatches micro_batches, DType dtype,
                                       const OptimizerConfig& optimizer, const DeviceModel& device);

// The costs by the clock, for steps of several micro-batches: the lower quartile of repetitions,
// each of which finds the caches filled with other data, as a layer in a training step does. FLOPs
// are counted. `before_layer` (may be empty) runs before each layer that is measured: a place for
// ranks that measure together to meet. Each layer is repeated for at least `least_s` seconds, and
// five times, unless it takes seconds itself.
[[nodiscard]] ModelCosts measured_costs(const Sequential& model, const ModelInput& input,
                                        int64_t micro_batch_size, DType dtype,
                                        const OptimizerConfig& optimizer, Device& device,
                                        const std::function<void()>& before_layer = {},
                                        double least_s = 0.5);

}  // namespace penstock
