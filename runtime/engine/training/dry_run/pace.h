// runtime/engine/training/dry_run/pace.h -- lets a dry run take the times of a kind of device
// (DeviceKind): gives, for each instruction, the factor between what it takes there, by a profile
// (`penstock profile`) or another model, and the time that the rehearsing device counts from the
// operations. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/device_model.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// How many factors paces() returns for so many stages.
[[nodiscard]] size_t pace_size(int stages);
// The factors, the kind's time over that counted for `device`: stage by stage, and for each stage
// forward, recompute, backward of inputs, backward of weights, whole backward, update. 1 where no
// time was counted. Throws Error(Input) when the kind's profile is of another network.
[[nodiscard]] std::vector<double> paces(const Config& config, const Blueprint& blueprint,
                                        const DeviceModel& device, const DeviceKind& kind);
// A function for VirtualDevice::set_pace(). Given `key`, the index of an instruction in the program
// of the rank at `position` of a pipeline, it returns the factor of that instruction; 1 beyond the
// program's end.
[[nodiscard]] std::function<double(int64_t key)> pace_by_section(const Schedule& training,
                                                                 int position,
                                                                 std::vector<double> paces);

}  // namespace penstock
