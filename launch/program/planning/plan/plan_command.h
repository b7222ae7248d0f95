// launch/program/planning/plan/plan_command.h -- `penstock plan`: finds the fastest ways to run a
// training job on given hardware (stages, replicas, micro-batches, schedule, recompute) by
// prediction, before any job is submitted. One process does it, without MPI.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

struct PlanAnswer {
  std::string text;   // the fastest runs as a table, or as JSON
  int exit_code = 0;  // that of ErrorKind::Resource where nothing fits
};

// Does the command. Allocates no weights. Throws Error(Input) or, from runtime/planning,
// std::invalid_argument.
[[nodiscard]] PlanAnswer plan_answer(const std::vector<std::string>& arguments,
                                     const ModelMaker& models);
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& plan_form();

}  // namespace penstock
