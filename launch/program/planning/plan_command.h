// launch/program/planning/plan_command.h -- `penstock plan`: which run to ask the batch system for,
// worked out without any rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"

namespace penstock {

// What the command prints: the fastest runs as a table, or JSON. Needs no MPI and allocates no
// weights. Throws Error(Input), or std::invalid_argument from runtime/planning.
[[nodiscard]] std::string plan_text(const std::vector<std::string>& arguments,
                                    const ModelMaker& models);
[[nodiscard]] const CommandForm& plan_form();
[[nodiscard]] CommandOptions plan_command_options();

// The bytes that "80GiB", "16GB", "512MiB" or a plain number means. Throws Error(Input).
[[nodiscard]] int64_t parse_bytes(const std::string& text);

}  // namespace penstock
