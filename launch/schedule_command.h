// launch/schedule_command.h -- `penstock schedule`: what every rank would do, without any rank.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// What the command prints: a drawing with its figures, the compute instructions as CSV, or JSON.
// Needs no MPI. Throws Error(Input), or std::invalid_argument from runtime/schedule.
[[nodiscard]] std::string schedule_text(const std::vector<std::string>& arguments);
[[nodiscard]] std::string schedule_help();

}  // namespace penstock
