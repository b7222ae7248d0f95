// runtime/run_directory/cleaning.h -- removing what an earlier run left, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The results of a run, its log and its checkpoints. Of a checkpoint the files that its manifest
// names; a directory that holds anything else stays, with that. Throws Error(Resource).
void remove_run(const std::string& directory);

// Moves the checkpoints into checkpoints/before-attempt-<attempt>/. Throws Error(Resource).
void set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
               int64_t attempt);

}  // namespace penstock
