// launch/program/planning/plan_command.h -- `penstock plan`: finds the fastest ways to run a
// training job on given hardware (stages, replicas, micro-batches, schedule, recompute) by
// prediction, before any job is submitted. One process does it, without MPI.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

// Does the command and returns what is printed: the fastest runs as a table, or as JSON. Allocates
// no weights. Throws Error(Input) or, from runtime/planning, std::invalid_argument.
[[nodiscard]] std::string plan_text(const std::vector<std::string>& arguments,
                                    const ModelMaker& models);
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& plan_form();

}  // namespace penstock
