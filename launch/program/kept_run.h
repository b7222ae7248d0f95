// launch/program/kept_run.h -- what a run directory keeps of a run's configuration, and what the
// commands that use a trained run take from there, so that they need no training text.
#pragma once

#include <string>

#include "runtime/configuration/config.h"
#include "runtime/run_directory/identity.h"

namespace penstock {

// The run file for the run directory config.run.out: with the sizes that the data gave the network,
// a vocabulary in the directory relative to it, and without what was said of one attempt only.
[[nodiscard]] std::string kept_run_file(const Config& config, const DataSizes& sizes);

// The configuration of a trained run: where no run.out is named it is that of `checkpoint` (empty:
// none is named either), or runs/latest. What is left to the data (vocabulary, classes) is as the
// run directory has it. Throws Error(Data) for a directory whose run.json cannot be read.
[[nodiscard]] Config with_kept(const Config& config, const std::string& checkpoint);

}  // namespace penstock
