// launch/program/processor/measured_speed.h -- measures how fast this processor computes, for
// forecasts. The first few commands measure; later ones read the user's cache, which has a file for
// each processor, build, number of threads of a rank and number of ranks side by side. The fastest
// measurement of each op counts, since other work on the machine disturbs some; three undisturbed
// measurements are enough, or eight of any kind.
#pragma once

#include <string>

#include "kernels/device_model.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The processor's name in /proc/cpuinfo, "AMD EPYC"; "unknown" where it has none.
[[nodiscard]] std::string processor_name();

// Collective. The speed of rank 0's host for ranks of `threads` threads each, the same on every
// rank: by the measurements in rank 0's cache and, unless they are enough, by one that rank 0 makes
// now, while as many ranks of its host as have cores of their own compute beside it. `host_cores`,
// the cores of rank 0's host, counts on rank 0 alone. Takes half a second at most.
[[nodiscard]] ProcessorSpeed speed_of_ranks(Collective& world, const Session& session, int threads,
                                            int host_cores);
// The speed of this host for a job that would have `ranks` ranks here, measured by this process
// alone.
[[nodiscard]] ProcessorSpeed speed_for_ranks(int ranks, int threads);

}  // namespace penstock
