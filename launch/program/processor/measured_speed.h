// launch/program/processor/measured_speed.h -- what the processor at hand does in a second, for
// forecasts: measured by the first few commands and then taken from the user's cache, by processor,
// build, threads of a rank and ranks that compute side by side. What else a machine did during one
// measurement has gone by another, and of each op the fastest counts: three measurements are enough
// that nothing disturbed, or eight of any kind.
#pragma once

#include <string>

#include "kernels/device_model.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// /proc/cpuinfo's "AMD EPYC"; "unknown" where there is none.
[[nodiscard]] std::string processor_name();

// Collective. Of the host of rank 0, for ranks of that many threads: what rank 0 has in its cache,
// and unless that is enough also what it measures now while the ranks beside it do the same, as
// many of them as have cores of their own. `host_cores`, those of its host, are read on rank 0
// alone. The same on every rank. Takes half a second at most.
[[nodiscard]] ProcessorSpeed speed_of_ranks(Collective& world, const Session& session, int threads,
                                            int host_cores);
// The same by one process, for a job that would have so many ranks on this host.
[[nodiscard]] ProcessorSpeed speed_for_ranks(int ranks, int threads);

}  // namespace penstock
