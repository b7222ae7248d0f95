// runtime/planning/costs/interconnects.h -- how fast messages travel between the devices of a
// cluster, for predictions of a step's time: measured figures where there are some, else typical
// ones for the kind of device.
//
// The functions return a Cluster (runtime/planning/plan/arrangement.h) with the times of links
// within and between nodes, the network cards of a node and the memory of a device.
// `ranks_per_node`: 0: all ranks are on one node.
#pragma once

#include "kernels/device_model.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/plan/predict.h"

namespace penstock {

// The cluster of these devices: usual_cluster(), with the link times that a profile has measured in
// place of the typical ones. Where ranks are unlike, Cluster::devices says of what kind each is;
// links are the slowest of all kinds but those in Devices::links, and all else is as for the first
// kind.
[[nodiscard]] Cluster cluster_of(const Devices& devices, int ranks_per_node);
// Whether a profile has such a link.
[[nodiscard]] bool is_measured(const LinkTimes& link);

// The cluster of devices like `device` with typical links: 80 % of the bandwidth that vendors
// state, which large messages reach.
[[nodiscard]] Cluster usual_cluster(const DeviceModel& device, int ranks_per_node = 0);

}  // namespace penstock
