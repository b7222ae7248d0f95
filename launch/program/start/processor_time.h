// launch/program/start/processor_time.h -- how much processor time this process may use: a
// container (docker run --cpus, a pod's limits.cpu) or a service (CPUQuota) may run on many cores
// and have the time of few. Neither the affinity mask nor hwloc tells.
#pragma once

#include <string>

namespace penstock {

// The processor time that this process may use, in cores: 1.5 for 150 ms in every 100 ms. It is the
// least that the process's control group and those around it allow, in either version of Linux's
// control groups; 0 where there is no limit, or none can be read. `root`: the root of the file
// system, for tests. Format: https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max) and
// https://docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_quota_us).
[[nodiscard]] double allowed_processor_time(const std::string& root = "");

// How many of `cores` cores a process with `allowed` (allowed_processor_time()) has the time to
// use: at least 1.
[[nodiscard]] int cores_with_time(int cores, double allowed);

// How many hardware threads this process may run on and has the time to use.
[[nodiscard]] int usable_processors();

}  // namespace penstock
