// launch/program/start/processor_time.h -- how much of the cores' time this process may spend: a
// container (docker run --cpus, a pod's limits.cpu) or a service (CPUQuota) may have many cores and
// the time of few. Neither the affinity mask nor hwloc tells.
#pragma once

#include <string>

namespace penstock {

// In cores: 1.5 for 150 ms of processor time in every 100 ms. The least that this process's control
// group and those around it allow, of either version of Linux's control groups; 0 where nothing
// limits it, or nothing tells. `root`: of the file system, for tests. Format:
// https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max) and
// https://docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_quota_us).
[[nodiscard]] double allowed_processor_time(const std::string& root = "");

// Of `cores` that a process may run on, those that it has the time to use: at least 1.
[[nodiscard]] int cores_with_time(int cores, double allowed);

// Hardware threads that this process may run on and has the time to use.
[[nodiscard]] int usable_processors();

}  // namespace penstock
