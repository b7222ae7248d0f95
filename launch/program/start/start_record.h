// launch/program/start/start_record.h -- start_record(): by what, where and how a run was started,
// so that whoever finds its results can tell, and start it again.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/telemetry/records.h"
#include "runtime/system/comm/mpi/session.h"

namespace penstock {

// The record of this start of `penstock train`, as of rank 0; its attempt is left at 1. `arguments`
// are those behind "train"; `hosts`: how many the ranks are on.
[[nodiscard]] StartRecord start_record(const Session& session,
                                       const std::vector<std::string>& arguments, int hosts);

// What the program is: "penstock 0.1.0 (90511e60f1b2)", without the commit where it is not known.
[[nodiscard]] std::string program_text();

// oneDNN's, as "2.6.3".
[[nodiscard]] std::string onednn_version();

// Whether a variable of the environment belongs into the record: those that OpenMP, MPI, numeric
// libraries, NCCL and Penstock read, and the number of the batch job; but not what a launcher tells
// its own ranks.
[[nodiscard]] bool is_recorded(const std::string& variable);

}  // namespace penstock
