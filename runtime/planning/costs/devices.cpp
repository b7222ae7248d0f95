#include "runtime/planning/costs/devices.h"

namespace penstock {

Devices like_devices(const DeviceModel& model, const Profile* profile,
                     const std::string& profile_path) {
  Devices devices{
      .kinds = {{.model = model}},
      .basis = profile == nullptr ? "counted for " + model.name : "measured: " + profile_path};
  if (profile != nullptr) devices.kinds[0].profile = *profile;
  return devices;
}

}  // namespace penstock
