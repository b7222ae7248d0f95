// runtime/planning/costs/devices.h -- Devices: on which devices the ranks of a job compute, all on
// the same kind or each on its own, and which links between them are unlike. Forecasts, plans and
// dry runs start from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/device_model.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/planning/schedule/timing/rank_links.h"

namespace penstock {

// Devices that take the same for the same layers.
struct DeviceKind {
  DeviceModel model = {};               // by which layers are counted
  std::optional<Profile> profile = {};  // measured times, by which the counted ones are corrected
  // How fast it is beside what model and profile say: at 0.5 everything takes twice as long.
  double speed = 1;
  int64_t memory_bytes = 0;  // of a rank; 0: as the cluster says it (Cluster::memory_bytes)
};

struct Devices {
  std::vector<DeviceKind> kinds = {};  // at least one; the first is that of rank 0
  std::vector<int> kind_of_rank = {};  // by world rank; empty: all ranks are of the first kind
  RankLinks links = {};                // which links are unlike; empty: none is
  // What times rest on, in words: "counted for cpu", "measured: profile.json".
  std::string basis = {};
};

// Ranks that are all alike. `profile` (null: none) is copied; `profile_path` is where it was read.
[[nodiscard]] Devices like_devices(const DeviceModel& model, const Profile* profile = nullptr,
                                   const std::string& profile_path = {});

}  // namespace penstock
