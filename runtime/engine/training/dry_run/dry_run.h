// runtime/engine/training/dry_run/dry_run.h -- DryRun: a run with everything but the arithmetic:
// real ranks, messages of real size, sums over replicas, data read as they are; computation takes
// its modelled time.
//
// It is made of the same parts as Run, on a device that computes nothing
// (kernels/counting/pacing_device.h). It leaves nothing that could be taken for a result: no loss,
// no checkpoint, no run directory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernels/counting/pacing_device.h"
#include "runtime/engine/measurements/run_report.h"
#include "runtime/engine/measurements/trace_recorder.h"
#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/step.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Configuration and models are the same on every rank.
struct DryRunOrder {
  const Config& config;
  const ModelMaker& models;
  const Profile* profile = nullptr;  // on rank 0: measured times; null: counted ones
  // Called on every rank once the network is known, before anything is allocated; may be empty.
  std::function<void(const Blueprint&)> drawn_up = {};
  // Called on rank 0 with one line at a time about what goes on.
  std::function<void(const std::string&)> say = {};
};

class DryRun {
 public:
  // Collective over all ranks. `station.device` is `device`. All that the arguments refer to must
  // outlive this. Throws Error as Run does.
  DryRun(const DryRunOrder& order, const Station& station, PacingDevice& device);

  // Collective; once. Takes config.run.steps steps. Complete on rank 0.
  [[nodiscard]] RunSummary to_the_end();
  // The recorded steps beside the predicted ones, on rank 0 after to_the_end(); null: none were
  // recorded.
  [[nodiscard]] const Trace* trace() const { return traced_; }

 private:
  void say(const std::string& line) const;
  [[nodiscard]] std::optional<Forecast> look_ahead(const DryRunOrder& order) const;
  void set_pace(const Profile* profile);
  [[nodiscard]] std::span<const Batch> next_batches(int64_t step);
  void take_step(int64_t number);

  const Config& config_;
  Station station_;
  PacingDevice& device_;
  std::function<void(const std::string&)> say_;
  DataSource source_;
  Blueprint blueprint_;
  std::optional<Forecast> forecast_;  // until the report has it
  double predicted_ms_ = 0;           // on rank 0
  Pipeline pipeline_;
  RunReport report_;
  TraceRecorder recorder_;
  std::optional<Step> step_;
  std::optional<Batches> batches_;
  const Trace* traced_ = nullptr;
};

}  // namespace penstock
