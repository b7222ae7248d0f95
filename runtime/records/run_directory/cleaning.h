// runtime/records/run_directory/cleaning.h -- removing what an earlier run left, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Removes the results of a run, its log and its checkpoints. In a checkpoint only the files that
// its manifest names are removed; whatever else has the name of a step (without a manifest, or with
// files of others) is set aside, for the new run may come to that step. Returns a line about each
// thing set aside. Throws Error(Resource).
[[nodiscard]] std::vector<std::string> remove_run(const std::string& directory, int64_t attempt);

// Moves the checkpoints into checkpoints/before-attempt-<attempt>/, or before-attempt-<attempt>-2/
// where there are such names already, and so on; returns that folder. Throws Error(Resource).
std::string set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
                      int64_t attempt);

// A copy of a run directory that followed links has a directory where the link checkpoints/latest
// was, so that no checkpoint could be completed: it is set aside, or becomes the step that it is
// where that step is missing. Returns a line about it; empty where there is none. Throws
// Error(Resource).
[[nodiscard]] std::string free_latest(const std::string& directory, int64_t attempt);

}  // namespace penstock
