// runtime/engine/measurements/outlook.h -- the lines that a user is told before the first step:
// what is about to run, and how long a step and how much memory the planner predicts for it. Run
// prints them on rank 0, and DryRun the first of them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// One line that says what is about to run: network, parameters, stages, replicas, micro-batches,
// schedule, device.
[[nodiscard]] std::string headline(const Config& config, const Layout& layout, Network& network,
                                   Device& device);
// What the planner predicts of the run, one or more lines: the time of a step, the bubble, the
// memory of the rank that needs most (the fullest rank); audits_text() and copies_text() where the
// run has audits or copies. Called on rank 0. Warns where the fullest rank needs more than its
// accelerator has, or where the ranks of this host together need more than the host's memory: for
// snapshots of checkpoints, for copies of the state (checkpoint.partner_every) and, on the CPU, for
// tensors. `station`: which rank this is, with its network, its place in stages x replicas and its
// device.
[[nodiscard]] std::string outlook(const Forecast& forecast, const Station& station,
                                  const Config& config);
// A line that says how much longer an audited step takes, by `prediction`, and how much longer all
// steps together take when one in run.audit is audited; or that the run has too few steps for that.
[[nodiscard]] std::string audits_text(const Prediction& prediction, const RunConfig& run);
// A line that says what copies of the training state in memory take, one every `every` steps
// (checkpoint.partner_every): memory of a host, and a share of its network's time. A step takes
// `step_s` seconds. Adds a warning where the network is too slow for that.
[[nodiscard]] std::string copies_text(const CopyCosts& copies, double step_s, int64_t every);
// A warning that the fullest rank needs `fullest_bytes`, more than the accelerator has; "" where it
// fits. `recompute` is pipeline.recompute: where possible the warning advises a mode that keeps
// less.
[[nodiscard]] std::string device_warning(int64_t fullest_bytes, const DeviceFacts& device,
                                         const std::string& recompute);

}  // namespace penstock
