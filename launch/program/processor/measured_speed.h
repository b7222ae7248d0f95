// launch/program/processor/measured_speed.h -- what the processor at hand does in a second, for
// forecasts: measured by the first few commands and then taken from the user's cache, by processor,
// build, threads of a rank and ranks that compute side by side. The fastest measurement of each op
// counts, since other work on the machine disturbs some; three undisturbed measurements are enough,
// or eight of any kind.
#pragma once

#include <string>

#include "kernels/device_model.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// /proc/cpuinfo's "AMD EPYC"; "unknown" where there is none.
[[nodiscard]] std::string processor_name();

// Collective. The speed of rank 0's host for ranks of that many threads, the same on every rank:
// what rank 0 has in its cache and, unless that is enough, what it measures now while the ranks
// beside it do the same, as many of them as have cores of their own. `host_cores`, the cores of
// rank 0's host, count on rank 0 alone. Takes half a second at most.
[[nodiscard]] ProcessorSpeed speed_of_ranks(Collective& world, const Session& session, int threads,
                                            int host_cores);
// The same by one process, for a job that would have so many ranks on this host.
[[nodiscard]] ProcessorSpeed speed_for_ranks(int ranks, int threads);

}  // namespace penstock
