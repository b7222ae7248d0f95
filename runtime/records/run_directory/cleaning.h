// runtime/records/run_directory/cleaning.h -- removes, or moves aside, what an earlier run left in
// a run directory, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Removes the results of a run, its log and its checkpoints; of a checkpoint only the files that
// its manifest names. Whatever else has the name of a step (without a manifest, or with files
// besides) is set aside, for the new run may come to that step. `attempt`: of the new run. Returns
// a line about each thing set aside. Throws Error(Resource).
[[nodiscard]] std::vector<std::string> remove_run(const std::string& directory, int64_t attempt);

// Moves the checkpoints into the folder checkpoints/before-attempt-<attempt>/, or
// before-attempt-<attempt>-2/ (-3/, ...) where that has such names already, and returns the folder.
// Throws Error(Resource).
std::string set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
                      int64_t attempt);

// Moves checkpoints/latest away where it is a directory, as in a copy of a run directory that
// followed links; no checkpoint could be completed there. It is renamed to its step's directory
// where that is missing, else set aside. Returns a line about it; empty where it is no directory.
// Throws Error(Resource).
[[nodiscard]] std::string free_latest(const std::string& directory, int64_t attempt);

}  // namespace penstock
