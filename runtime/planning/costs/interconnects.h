// runtime/planning/costs/interconnects.h -- how fast messages travel between the devices of a
// cluster, for predictions of a step's time: measured figures where there are some, else typical
// ones for the kind of device.
//
// Both functions return a Cluster (runtime/planning/plan/arrangement.h) with the times of links
// within and between nodes and the memory of a device. The caller sets the number of ranks per node
// and their placement.
#pragma once

#include "kernels/device_model.h"
#include "runtime/planning/plan/predict.h"
#include "runtime/planning/plan/profile.h"

namespace penstock {

// The cluster of devices like `device`: usual_cluster(), with the link times that `profile` (null:
// none) has measured in place of the typical ones.
[[nodiscard]] Cluster cluster_of(const DeviceModel& device, const Profile* profile);

// The cluster of devices like `device` with typical links: 80 % of the bandwidth that vendors
// state, which large messages reach.
[[nodiscard]] Cluster usual_cluster(const DeviceModel& device);

}  // namespace penstock
