// launch/program/start/meeting.h -- the first thing that ranks do together: see that they are one
// program, started by the same words.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Collective. Throws on every rank where ranks are different programs or have other arguments
// (start_facts.h). Returns, on rank 0, what is worth a note: conditions that differ, a lost host
// that nobody would notice.
std::vector<std::string> meet(Collective& world, const Session& session);

}  // namespace penstock
