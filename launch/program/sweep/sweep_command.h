// launch/program/sweep/sweep_command.h -- `penstock sweep`: many runs (points) of one experiment,
// which vary keys of a run file, and a table and plots of their results. docs/sweep.md describes
// it.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

// Does the command and returns the exit code. Uses no MPI itself: it starts the ranks of every
// point. Throws Error(Input) for wrong arguments, otherwise as read_sweep_file(), draw_sweep(),
// SweepDirectory, run_locally() and submit_points() do.
[[nodiscard]] int sweep_command(const std::vector<std::string>& arguments,
                                const ModelMaker& models);
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& sweep_form();

}  // namespace penstock
