// runtime/training/trainer.h -- train(): from a configuration to a trained, saved, reported
// network.
#pragma once

#include "runtime/comm/network.h"
#include "runtime/comm/session.h"
#include "runtime/configuration/config.h"
#include "runtime/models/models.h"
#include "runtime/plan/profile.h"
#include "runtime/telemetry/records.h"
#include "runtime/telemetry/reporter.h"

namespace penstock {

// Collective over all ranks, with the same configuration and models on each. `device` is this
// rank's own; `reporter` is null except on rank 0. config.run.out must exist; checkpoints are
// written below it, and `run_file` (the effective configuration as text) into them. `profile` is
// for the predictions in the report, and null where there is none. Returns the summary on rank 0
// (elsewhere only what this rank knows). Throws Error; those that every rank throws say so
// (ErrorScope).
RunSummary train(const Config& config, const ModelMaker& models, const std::string& run_file,
                 const Session& session, Network& network, const Grid& grid, Device& device,
                 Reporter* reporter, const Profile* profile = nullptr);

}  // namespace penstock
