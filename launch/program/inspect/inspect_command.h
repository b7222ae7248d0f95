// launch/program/inspect/inspect_command.h -- `penstock inspect`: what a checkpoint holds, whether
// it is whole, how two checkpoints differ; or what a run file would train. Needs no MPI.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

struct Inspection {
  std::string text;   // what the command prints
  int exit_code = 0;  // 1: two checkpoints differ
};

// Does what the command does. Throws Error(Input) for bad usage and Error(Data) for a damaged
// checkpoint.
[[nodiscard]] Inspection inspect(const std::vector<std::string>& arguments,
                                 const ModelMaker& models);
[[nodiscard]] const CommandForm& inspect_form();
[[nodiscard]] CommandOptions inspect_command_options();

}  // namespace penstock
