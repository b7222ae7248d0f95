// launch/program/inspect/inspect_command.h -- `penstock inspect`: tells what a checkpoint holds,
// whether it is whole and how two checkpoints differ, or what a run file would train. One process
// does it, without MPI.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

struct Inspection {
  std::string text;   // what the command prints
  int exit_code = 0;  // 1 when two checkpoints differ, else 0
};

// Does the command. Throws Error(Input) for wrong arguments and Error(Data) for a damaged
// checkpoint.
[[nodiscard]] Inspection inspect(const std::vector<std::string>& arguments,
                                 const ModelMaker& models);
// The command's texts and its own options, for command_table.h.
[[nodiscard]] const CommandForm& inspect_form();

}  // namespace penstock
