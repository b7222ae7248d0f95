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
// What the planner predicts, with a warning where the device has less memory than the fullest rank
// needs, or this host less than its ranks need together: for everything, if they compute in its
// memory, and for the copies that checkpoints are written from.
[[nodiscard]] std::string outlook(const Forecast& forecast, const Station& station,
                                  const Config& config);
// What an audit every so many steps (run.audit) takes of them, by the prediction of such a run.
[[nodiscard]] std::string audits_text(const Prediction& prediction, int64_t every);
// What copies in memory every so many steps of step_s seconds (checkpoint.partner_every) take of a
// host's memory and of its network.
[[nodiscard]] std::string copies_text(const CopyCosts& copies, double step_s, int64_t every);
// The warning that a rank of that many bytes does not fit on the accelerator; "" where it fits.
// `recompute` is the run's mode: the advice is to recompute more than that.
[[nodiscard]] std::string device_warning(int64_t fullest_bytes, const DeviceFacts& device,
                                         const std::string& recompute);

}  // namespace penstock
