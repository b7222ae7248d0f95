// launch/program/start/data_places.h -- checks, before anything is allocated, that the files which
// a run needs are on every host whose ranks open them, and names a host where they are missing.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The files and folders that a rank opens when its stages read batch fields (tokens, images,
// labels).
[[nodiscard]] std::vector<std::string> data_files(const DataConfig& data);
// Whether the stages of the rank at this position of a pipeline read batch fields.
[[nodiscard]] bool reads_data(const Blueprint& blueprint, int position);

// Throws Error(Resource) on every rank when a rank that reads data cannot open a file that rank 0
// can open; names the lowest such rank. Collective over `world`.
void refuse_missing_data(Collective& world, const Session& session, const Grid& grid,
                         const DataConfig& data, const Blueprint& blueprint);
// Throws Error(Resource) on every rank when a rank does not see `folder`, which rank 0 has made and
// all ranks write to (its host has another file system there); names the lowest such rank. Waits up
// to two seconds for file servers that show new folders late. Collective over `world`.
void refuse_hidden_folder(Collective& world, const Session& session, const std::string& folder);

}  // namespace penstock
