// runtime/planning/costs/layer_costs.h -- what each layer of a network costs: seconds, FLOPs and
// bytes of its forward, backward and update, as the planner needs them to choose and predict.
//
// There are two ways to find out. counted_costs() needs no hardware: the layers run on a device
// that computes nothing and adds up FLOPs and bytes by a model of the real device. measured_costs()
// runs them on the real device and takes the time.
//
// Both put one layer at a time on the device, as a Stage with this layer alone, and run it through
// forward, both halves of the backward, and update, on tensors of the right shapes (layer_probe.h).
// So a network that is too large for one device can be measured on it. Layers that are equal are
// run once. The network's layers may be in use elsewhere at the same time.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/device_model.h"
#include "runtime/network/layers/layer.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/config.h"
#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// Counts the costs of all layers on `device`. `input` is the shape and type of one sample,
// `micro_batches` the samples of a micro-batch and whether a step has several. `dtype` is the type
// of activations; `optimizer` decides which parameters are frozen and what state the others have.
// The result has an entry for each layer, in order, and the skip connections. Throws Error(Input)
// for a layer that cannot take the output of the layer before it.
[[nodiscard]] ModelCosts counted_costs(const Sequential& model, const ModelInput& input,
                                       MicroBatches micro_batches, DType dtype,
                                       const OptimizerConfig& optimizer, const DeviceModel& device);

// Measures the costs of all layers on `device`, for steps of several micro-batches of
// `micro_batch_size` samples. Each layer is repeated at least five times and for at least `least_s`
// seconds (less often if one repetition takes seconds), and the lower quartile of the times is
// taken. Before each repetition the caches are filled with other data, as in a training step. FLOPs
// are counted, as above. `before_layer` (may be empty) is called before each layer is measured, so
// that ranks that measure at the same time can wait for one another there. Throws Error(Input) as
// counted_costs() does.
[[nodiscard]] ModelCosts measured_costs(const Sequential& model, const ModelInput& input,
                                        int64_t micro_batch_size, DType dtype,
                                        const OptimizerConfig& optimizer, Device& device,
                                        const std::function<void()>& before_layer = {},
                                        double least_s = 0.5);

}  // namespace penstock
