// launch/program/planning/files/profile_file.h -- writes and reads the file of a profile: the times
// of layers and links that `penstock profile` measures, and that `penstock plan` and forecasts of
// runs use.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// The profile as JSON, times in seconds, with the names of the structs' members:
//   {version, device, threads, micro_batch_size, precision, layers: [{name, kind, ...}],
//    links: {within_node, between_nodes}}
// Where every link was measured (--links) `links` also has, for people, {bytes: [], each:
// [{first_rank, second_rank, of, same_node, seconds: []}]}; plans do not use these.
[[nodiscard]] std::string profile_text(const Profile& profile);
// Reads what profile_text() wrote. Throws Error(Input) naming the file and the key.
[[nodiscard]] Profile read_profile(const std::string& path);
// Throws Error(Input) where the profile, read from `path`, is of another precision than a run's.
void check_precision(const Profile& profile, const std::string& path, const std::string& precision);
// A line for the user where the profile, read from `path`, was measured on another kind of device
// or with another number of threads than the run's `device` (Device::description()) has: its times
// are then those of another machine. "" where it was measured on such a device.
[[nodiscard]] std::string other_device_text(const Profile& profile, const std::string& path,
                                            const std::string& device);

}  // namespace penstock
