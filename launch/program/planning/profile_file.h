// launch/program/planning/profile_file.h -- the file that `penstock profile` writes and `penstock
// plan` reads.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// JSON: {version, device, threads, micro_batch_size, precision, layers: [{name, kind, ...}],
// links: {within_node, between_nodes}}, with the names of the structs; times in seconds. Where
// every link was measured `links` also has {bytes: [], each: [{first_rank, second_rank, of,
// same_node, seconds: []}]}, for people: plans use within_node and between_nodes alone.
[[nodiscard]] std::string profile_text(const Profile& profile);
// Reads what profile_text() wrote. Throws Error(Input), one line that names the file and the key.
[[nodiscard]] Profile read_profile(const std::string& path);

}  // namespace penstock
