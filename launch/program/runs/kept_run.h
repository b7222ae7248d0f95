// launch/program/runs/kept_run.h -- what a run directory keeps of a run's configuration, and what
// the commands that use a trained run take from there, so that they need no training text.
#pragma once

#include <string>

#include "runtime/planning/blueprint/config.h"

namespace penstock {

// The run file for the run directory config.run.out, and for its checkpoints: a vocabulary in the
// directory, and what is kept of the folder model.from, is relative to it, and what was said of one
// attempt only is left out.
[[nodiscard]] std::string kept_run_file(const Config& config);

// The configuration with the sizes that the data gave the network (vocabulary, classes), from
// run.json in run.out, where it leaves them to the data. Throws Error(Data) for a run.json that
// cannot be read.
[[nodiscard]] Config with_kept_sizes(const Config& config);

// The configuration of a trained run: where no run.out is named it is that of `checkpoint` (empty:
// none is named either), or runs/latest. What is left to the data, word pieces too, is as the run
// directory has it. Throws Error(Input) where it has no word pieces, otherwise as
// with_kept_sizes().
[[nodiscard]] Config with_kept(const Config& config, const std::string& checkpoint);

}  // namespace penstock
