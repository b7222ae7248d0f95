// launch/program/start/meeting.h -- meet(): the first collective call of a job. The ranks exchange
// facts about their program and arguments (start_facts.h), and rank 0 compares them, so that a job
// of ranks that do not fit together ends at once.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Collective over `world`, all ranks. Throws Error(Input) on every rank when ranks are different
// programs or have different arguments. Returns notes for the user on rank 0 (elsewhere none; a
// note may be an empty text): on conditions that differ between ranks, and on how late mpirun would
// notice a lost host.
std::vector<std::string> meet(Collective& world, const Session& session);

}  // namespace penstock
