// launch/program/processor/rank_speeds.h -- how fast the processors of a job's ranks are beside one
// another, measured when a run starts: pipeline.devices = "measured" (kMeasuredDevices,
// options/settings.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/planning/costs/devices.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// By rank, FLOP/s of the fastest matrix product in a precision (run.precision) with `threads`
// threads. All ranks measure at the same time, as they will compute, for about a second.
// Collective.
[[nodiscard]] std::vector<double> measured_rates(Collective& world, int threads,
                                                 const std::string& precision);

// Ranks whose rates are within 5 % of the fastest of a kind are of that kind, which is as fast as
// they are in the mean; the kind of rank 0 is `usual`. Where there is one kind, all are alike.
// `rates` must not be empty.
[[nodiscard]] Devices devices_of_rates(std::span<const double> rates, const DeviceKind& usual,
                                       const std::string& profile_path);

}  // namespace penstock
