// launch/program/start/meeting.h -- meet(): the first collective call of a job, in which the ranks
// exchange their StartFacts (start_facts.h) and rank 0 compares them.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Collective. Throws on every rank where ranks are different programs or have different arguments.
// Returns, on rank 0, notes, which may be empty: on conditions that differ between ranks, and on
// how late mpirun would notice a lost host.
std::vector<std::string> meet(Collective& world, const Session& session);

}  // namespace penstock
