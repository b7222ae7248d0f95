// launch/program/processor/measured_speed.h -- measures how fast this processor computes, for
// forecasts of runs on the CPU.
//
// A measurement takes half a second at most. The first few commands measure, later ones read the
// user's cache (speed_file.h), which has a file for each combination of processor, build, threads
// of a rank and ranks side by side. Of each operation the fastest measurement counts, since other
// work on the machine disturbs some. Three undisturbed measurements are enough, or eight of any
// kind.
#pragma once

#include <string>

#include "kernels/device_model.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The processor's name in /proc/cpuinfo, "AMD EPYC ..."; "unknown" where it has none.
[[nodiscard]] std::string processor_name();

// The speed of rank 0's host for ranks of `threads` threads each, the same on every rank.
// Collective over `world`. Taken from rank 0's cache where that has enough measurements; else rank
// 0 measures now, while other ranks of its host compute beside it, as many as have cores of their
// own. `host_cores`: the cores of the host; counts on rank 0.
[[nodiscard]] ProcessorSpeed speed_of_ranks(Collective& world, const Session& session, int threads,
                                            int host_cores);
// The speed of this host for a job that would have `ranks` ranks here, measured by this process
// alone.
[[nodiscard]] ProcessorSpeed speed_for_ranks(int ranks, int threads);

}  // namespace penstock
