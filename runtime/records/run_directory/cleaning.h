// runtime/records/run_directory/cleaning.h -- when an attempt (a start of a run) begins in a
// directory with older results: removes the results of the run that it replaces, or moves
// checkpoints aside that would be in its way. Files that Penstock has not written stay.
//
// `attempt` is always the number of the attempt that begins; folders for what is set aside are
// named after it. RunDirectory::begin() calls these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The work of --overwrite: removes results (metrics.jsonl, ...), log and checkpoints of the earlier
// run. Of a checkpoint only the files that its manifest names are removed. A directory with a
// checkpoint's name that remains, since it has no manifest or other files too, is set aside,
// because the new run may write a checkpoint of that name. Returns a line for the user about each
// thing set aside. Throws Error(Resource).
[[nodiscard]] std::vector<std::string> remove_run(const std::string& directory, int64_t attempt);

// Moves `checkpoints`, which are paths, to the folder
// <directory>/checkpoints/before-attempt-<attempt>/ and returns that folder. If it already has such
// names, takes before-attempt-<attempt>-2/ (-3/, ...). Throws Error(Resource).
std::string set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
                      int64_t attempt);

// If checkpoints/latest is a directory and not a link (somebody has copied the run directory and
// followed links), moves it away, since new checkpoints need the name for a link. It becomes the
// checkpoint of its step if there is no other, else it is set aside. Returns a line for the user;
// empty: nothing was done. Throws Error(Resource).
[[nodiscard]] std::string free_latest(const std::string& directory, int64_t attempt);

// The same for checkpoints/best, which is always set aside: its step is there under its own name.
// Leaves alone what is no checkpoint.
[[nodiscard]] std::string free_best(const std::string& directory, int64_t attempt);

}  // namespace penstock
