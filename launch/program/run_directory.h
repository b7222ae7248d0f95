// launch/program/run_directory.h -- the folder that a run writes to (run.out), and its run.toml.
#pragma once

#include "runtime/configuration/config.h"

namespace penstock {

// Makes config.run.out and writes the effective configuration there; the summary and trace of an
// earlier run are removed. Throws Error(Resource) when it cannot, and Error(Input) rather than
// write over a run.toml that a person wrote.
void prepare_run_directory(const Config& config);

}  // namespace penstock
