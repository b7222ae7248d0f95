// launch/program/sweep/point_forecast.h -- PointForecaster: what the planner expects of each point
// of a sweep, the same forecast that the point's run will compare its measurements with.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kernels/device_model.h"
#include "launch/program/sweep/sweep_file.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

class PointForecaster {
 public:
  // Both arguments must outlive this. Throws Error(Input) where sweep.device names no device, or
  // sweep.memory is no amount of memory.
  PointForecaster(const SweepFile& sweep, const ModelMaker& models);

  // Fills in point.planned, or says in point.skipped why the point cannot be run: more stages than
  // layers, not enough memory, a schedule that does not take these sizes.
  void forecast_into(const Config& config, SweepPoint& point);

 private:
  const Profile* profile_of(const Config& config);
  [[nodiscard]] DeviceModel device_for(const Config& config, const Profile* profile,
                                       int ranks) const;
  Config with_planned_split(const Config& config, const Profile& profile, int ranks,
                            const DeviceModel& device) const;

  const SweepFile& sweep_;
  const ModelMaker& models_;
  std::map<std::string, Profile> profiles_ = {};  // by path
  int64_t memory_bytes_ = 0;                      // 0: no limit
};

}  // namespace penstock
