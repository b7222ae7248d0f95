// launch/program/sweep/point_forecast.h -- PointForecaster: predicts the step time and memory of
// each point of a sweep before anything is started, with the same forecast that the point's run
// will compare its measurements with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kernels/device_model.h"
#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

class PointForecaster {
 public:
  // Both arguments must outlive this. Throws Error(Input) where sweep.device names no known device,
  // or sweep.memory is no amount of memory.
  PointForecaster(const SweepFile& sweep, const ModelMaker& models);

  // Fills in point.planned for the point, whose configuration is `config`; or says in point.skipped
  // why it cannot be run: more stages than layers, too little memory, a schedule that does not take
  // these sizes.
  void forecast_into(const Config& config, SweepPoint& point);

 private:
  // The profile that the configuration names; null: none.
  const Profile* profile_of(const Config& config);
  // The device that the forecast is for.
  DeviceModel device_for(const Config& config, const Profile* profile, int ranks);
  // The speed of this processor for so many ranks of so many threads. It is asked for once: until
  // it has been measured often enough, a second question may have another answer, and points that
  // are planned with different speeds do not compare.
  const ProcessorSpeed& speed_for(int ranks, int threads);
  // The configuration with the split of layers over stages that the run would choose.
  Config with_planned_split(const Config& config, int ranks, const Devices& devices) const;
  void search_schedule(Config& config, const Devices& devices) const;

  const SweepFile& sweep_;
  const ModelMaker& models_;
  std::map<std::string, Profile> profiles_ = {};               // by path
  std::map<std::pair<int, int>, ProcessorSpeed> speeds_ = {};  // by ranks and threads
  int64_t memory_bytes_ = 0;  // of each device: sweep.memory, else what it usually has; 0: no limit
};

}  // namespace penstock
