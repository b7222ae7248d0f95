// runtime/engine/training/dry_run/dry_run.h -- DryRun: `penstock train --dry-run`, a rehearsal of a
// training run with everything but the arithmetic. Ranks, messages of real size, sums over replicas
// and reading of data are real; time is not: each rank has a virtual clock, which moves by what its
// device is modelled to take, and messages carry it on (virtual_network.h).
//
// It is made of the same parts as Run (run.h), on a device that computes nothing
// (kernels/counting/virtual_device.h), so a laptop can rehearse a job of many GPUs, and its times
// do not depend on the laptop. It leaves nothing that could be mistaken for a result: no loss, no
// checkpoint, no run directory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernels/counting/virtual_device.h"
#include "runtime/engine/measurements/run_report.h"
#include "runtime/engine/measurements/trace_recorder.h"
#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/dry_run/virtual_network.h"
#include "runtime/engine/training/step.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// What to rehearse. Configuration and models are the same on every rank.
struct DryRunOrder {
  const Config& config;
  const ModelMaker& models;  // where networks come from
  // What the ranks stand for, on rank 0; null: all for the device of the dry run, counted.
  const Devices* devices = nullptr;
  // Called on every rank once the network and its schedule are known, before anything is allocated;
  // may be empty.
  std::function<void(const Blueprint&)> drawn_up = {};
  // Called on rank 0 with lines for the user, one at a time; may be empty.
  std::function<void(const std::string&)> say = {};
};

class DryRun {
 public:
  // Collective over all ranks. station.device must be `device`. All that the arguments refer to
  // must outlive this. Throws Error as Run does. `station`: which rank this is, with its network,
  // its place in stages x replicas and its device.
  DryRun(const DryRunOrder& order, const Station& station, VirtualDevice& device);

  // Takes config.run.steps steps and returns the summary, complete on rank 0. Collective; called
  // once.
  [[nodiscard]] RunSummary to_the_end();
  // The recorded steps beside the predicted ones, on rank 0 after to_the_end(); null: none were
  // recorded.
  [[nodiscard]] const Trace* trace() const { return traced_; }

 private:
  void say(const std::string& line) const;
  // Tells the user what is about to run. Returns the forecast on rank 0.
  [[nodiscard]] std::optional<Forecast> look_ahead(const DryRunOrder& order) const;
  // What is modelled; on ranks but rank 0 without what order.devices says.
  [[nodiscard]] Devices devices(const DryRunOrder& order) const;
  // Makes the device take the times of what this rank stands for.
  void set_pace(const DryRunOrder& order);
  [[nodiscard]] std::span<const Batch> next_batches(int64_t step);
  void take_step(int64_t number);

  const Config& config_;
  VirtualDevice& device_;
  VirtualNetwork network_;
  Station station_;  // with network_
  std::function<void(const std::string&)> say_;
  DataSource source_;
  Blueprint blueprint_;
  std::optional<Forecast> forecast_;  // until the report has it
  double predicted_ms_ = 0;           // of a step, on rank 0
  Pipeline pipeline_;
  RunReport report_;
  TraceRecorder recorder_;
  std::optional<Step> step_;
  std::optional<Batches> batches_;
  const Trace* traced_ = nullptr;  // what trace() returns
};

}  // namespace penstock
