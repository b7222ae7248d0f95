// launch/program/runs/run_length.h -- works out run.steps where the length of a run is given in
// epochs (run.epochs), passes over the training set, as soon as the size of the set is known.
//
// A run that goes on has it from its checkpoint, before any data are read; a new one from its data.
// Both functions return a copy of `config`. They change nothing where run.steps is not 0.
// Collective over `world`; what rank 0 throws, all ranks throw.
#pragma once

#include <string>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The configuration with the steps that follow from `checkpoint`, the directory of the one to go on
// from. Changes nothing where that is empty, or was written by a version that did not keep the size
// of the set. Throws Error(Data) where the checkpoint is damaged.
[[nodiscard]] Config with_steps_of_checkpoint(Collective& world, const Config& config,
                                              const std::string& checkpoint);

// The configuration with the steps that follow from the training data, which rank 0 opens for it.
// Throws what the opening throws: Error(Input) for a missing file, say, Error(Data) for a damaged
// one.
[[nodiscard]] Config with_steps_of_data(Collective& world, const Config& config,
                                        const ModelMaker& models);

// "3 passes over the training set: 94 steps", for people; empty where run.epochs is not given.
[[nodiscard]] std::string length_note(const RunConfig& run);

}  // namespace penstock
