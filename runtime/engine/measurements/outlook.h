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
// memory of the rank that needs most (the fullest rank); safeguards_text(). Called on rank 0. Warns
// where the fullest rank needs more than its accelerator has, or where the ranks of this host
// together need more than the host's memory: for snapshots of checkpoints, for copies of the state
// (checkpoint.partner_every) and, on the CPU, for tensors. `station`: which rank this is, with its
// network, its place in stages x replicas and its device.
[[nodiscard]] std::string outlook(const Forecast& forecast, const Station& station,
                                  const Config& config);
// What the safeguards that `config` asks for take; "" where it asks for none. Audits have a line
// with how much longer an audited step is, how much longer all steps together are when one in
// run.audit is audited, and which memory they take, or that the run has too few steps for them.
// Copies in memory, one every checkpoint.partner_every steps, have a line with memory of a host and
// a share of its network's time, and a warning where the network is too slow for them.
[[nodiscard]] std::string safeguards_text(const SafeguardCosts& safeguards, const Config& config);
// Says that the fullest rank needs `fullest_bytes`, more than the accelerator has; "" where it
// fits. `recompute` is pipeline.recompute: where possible a mode that keeps less is advised.
[[nodiscard]] std::string too_much_for_device(int64_t fullest_bytes, const DeviceFacts& device,
                                              const std::string& recompute);
// Throws Error(Resource) where the run needs more than four times the memory of this host or of its
// accelerator, with what outlook() warns of below that. A forecast is a bound from above, and the
// least that a run was seen to take is 0.4 of it (bench/README.md). Called on rank 0, before memory
// is taken: a host whose memory is full may not answer any more.
void refuse_far_too_large(const Forecast& forecast, const Station& station, const Config& config);

}  // namespace penstock
