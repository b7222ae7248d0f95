// runtime/engine/measurements/outlook.h -- what a user is told before the first step: what is about
// to run, and what it should take.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// One line that says what is about to run.
[[nodiscard]] std::string headline(const Config& config, const Layout& layout, Network& network,
                                   Device& device);
// What the planner predicts of the run. Warns where the fullest rank needs more than the device's
// memory, or where the ranks of this host together need more than the host's: for checkpoint
// snapshots, for copies (checkpoint.partner_every) and, on the CPU, for tensors.
[[nodiscard]] std::string outlook(const Forecast& forecast, const Station& station,
                                  const Config& config);
// How much longer an audited step takes, and how much longer all steps together where one in
// run.audit is audited, as `prediction` has it; or that the run has too few steps for an audit.
[[nodiscard]] std::string audits_text(const Prediction& prediction, const RunConfig& run);
// What copies of the state in memory, one every `every` steps (checkpoint.partner_every), take of a
// host's memory and of its network's time; a step takes step_s seconds.
[[nodiscard]] std::string copies_text(const CopyCosts& copies, double step_s, int64_t every);
// The warning that the fullest rank, which needs `fullest_bytes`, does not fit on the accelerator;
// "" where it fits. `recompute` is the run's mode: the advice is to recompute more.
[[nodiscard]] std::string device_warning(int64_t fullest_bytes, const DeviceFacts& device,
                                         const std::string& recompute);

}  // namespace penstock
