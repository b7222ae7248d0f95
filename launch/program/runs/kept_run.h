// launch/program/runs/kept_run.h -- the configuration that a run directory keeps, and how commands
// that use a trained run complete theirs from it, so that they need no training text.
#pragma once

#include <string>

#include "runtime/planning/blueprint/config.h"

namespace penstock {

// The run file that is written to the run directory config.run.out and to its checkpoints. Paths of
// a vocabulary in the directory and of the kept part of the folder model.from are relative to it;
// keys that concern one attempt only are left out.
[[nodiscard]] std::string kept_run_file(const Config& config);

// The configuration in which the sizes that it leaves to the data (vocabulary, classes) are those
// that run.json in run.out has of the trained network. Throws Error(Data) for a run.json that
// cannot be read.
[[nodiscard]] Config with_kept_sizes(const Config& config);

// The configuration of a trained run. Where it names no run.out, run.out becomes that of
// `checkpoint`, or runs/latest where `checkpoint` is empty too. What it leaves to the data, word
// pieces too, is as the run directory has it. Throws Error(Input) where the directory lacks the
// word pieces, otherwise as with_kept_sizes() does.
[[nodiscard]] Config with_kept(const Config& config, const std::string& checkpoint);

}  // namespace penstock
