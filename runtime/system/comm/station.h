// runtime/system/comm/station.h -- Station: what one rank of a run works with: its place among the
// ranks, its network and its device.
#pragma once

#include "kernels/device.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The objects that it refers to must outlive all that is built on it.
struct Station {
  const Session& session;  // which rank this is, on which host
  Network& network;        // whom it talks to
  Grid grid;               // where in stages x replicas every rank stands
  Device& device;          // what it computes on
};

}  // namespace penstock
