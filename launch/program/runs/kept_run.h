// launch/program/runs/kept_run.h -- the run file that a run directory keeps, and how commands that
// use a trained run fill in their configuration from that directory, so that they need no training
// text.
#pragma once

#include <string>

#include "runtime/planning/blueprint/config.h"

namespace penstock {

// The text of the run file that is written to the run directory config.run.out and to its
// checkpoints. The paths of a vocabulary in that directory and of the kept part of the folder
// model.from are relative to it; keys that concern one attempt only (run.out, run.resume,
// run.overwrite, run.time_limit) have their defaults. With run.epochs, run.steps is 0.
[[nodiscard]] std::string kept_run_file(const Config& config);

// The configuration with the sizes of the network that depend on its data, vocabulary and classes,
// taken from run.json in run.out where they are not given. Throws Error(Data) for a run.json that
// cannot be read.
[[nodiscard]] Config with_kept_sizes(const Config& config);

// The whole configuration of a trained run. Where run.out is not given, it is the run directory of
// `checkpoint`, or runs/latest where `checkpoint` is empty too. Sizes and word pieces that are not
// given are those of that directory. Throws Error(Input) where it lacks the word pieces, otherwise
// as with_kept_sizes() does.
[[nodiscard]] Config with_kept(const Config& config, const std::string& checkpoint);

}  // namespace penstock
