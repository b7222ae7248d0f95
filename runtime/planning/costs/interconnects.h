// runtime/planning/costs/interconnects.h -- the links between the devices of a machine, for
// predictions.
#pragma once

#include "kernels/device_model.h"
#include "runtime/planning/plan/predict.h"
#include "runtime/planning/plan/profile.h"

namespace penstock {

// The links between such devices: those that `profile` has measured (null: none), else the usual
// ones.
[[nodiscard]] Cluster cluster_of(const DeviceModel& device, const Profile* profile);

// The links that such devices usually have: figures of vendors, and the share of them that large
// messages reach.
[[nodiscard]] Cluster usual_cluster(const DeviceModel& device);

}  // namespace penstock
