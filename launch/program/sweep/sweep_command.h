// launch/program/sweep/sweep_command.h -- `penstock sweep`: many runs of one experiment.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

// Does what the command does. Needs no MPI: it starts the ranks of every point. Returns the exit
// code. Throws Error(Input) for bad usage, otherwise as read_sweep_file(), draw_sweep(),
// SweepDirectory, run_locally() and submit_points() do.
[[nodiscard]] int sweep_command(const std::vector<std::string>& arguments,
                                const ModelMaker& models);
[[nodiscard]] const CommandForm& sweep_form();
[[nodiscard]] CommandOptions sweep_command_options();

}  // namespace penstock
