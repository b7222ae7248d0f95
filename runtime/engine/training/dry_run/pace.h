// runtime/engine/training/dry_run/pace.h -- the ratio of measured to counted time of each
// instruction: with it a dry run takes the times of a profile. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/device_model.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// How many numbers paces() gives for that many stages.
[[nodiscard]] size_t pace_size(int stages);
// Measured over counted time, for each stage and each kind of its instructions. Throws Error(Input)
// when the profile is of another network.
[[nodiscard]] std::vector<double> paces(const Config& config, const Blueprint& blueprint,
                                        const DeviceModel& device, const Profile& profile);
// A function for PacingDevice::set_pace(): the factor of the instruction whose place is `key` in
// the program of the rank at `position` of a pipeline, and 1 beyond the program's end.
[[nodiscard]] std::function<double(int64_t key)> pace_by_section(const Schedule& training,
                                                                 int position,
                                                                 std::vector<double> paces);

}  // namespace penstock
