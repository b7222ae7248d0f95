// launch/program/start/data_places.h -- checks that the files a run needs are on every host whose
// ranks open them, and names a host that lacks them before anything is allocated.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The files and folders that a rank opens when its stages read batch fields.
[[nodiscard]] std::vector<std::string> data_files(const DataConfig& data);
// Whether the stages of the rank at that position of a pipeline read batch fields.
[[nodiscard]] bool reads_data(const Blueprint& blueprint, int position);

// Collective. Throws Error(Resource) on every rank, naming the lowest rank that reads data and
// cannot open a file that rank 0 can.
void refuse_missing_data(Collective& world, const Session& session, const Grid& grid,
                         const DataConfig& data, const Blueprint& blueprint);
// Collective. Throws Error(Resource) on every rank, naming the lowest rank that does not see the
// folder that rank 0 has made and all ranks write to.
void refuse_hidden_folder(Collective& world, const Session& session, const std::string& folder);

}  // namespace penstock
