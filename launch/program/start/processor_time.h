// launch/program/start/processor_time.h -- tells how much processor time this process may use,
// where a container or a service limits it (docker run --cpus, limits.cpu of a pod, CPUQuota). Such
// a process may run on many cores, and have the time of few; neither its affinity mask nor hwloc
// tells.
#pragma once

#include <string>

namespace penstock {

// The processor time that this process may use, in cores: 1.5 is 150 ms in every 100 ms. It is the
// least that its control group (cgroup) and those around it allow, in version 1 or 2 of control
// groups; 0 where there is no limit or none can be read. `root`: the root of the file system, for
// tests. Formats: https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max) and
// https://docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_quota_us).
[[nodiscard]] double allowed_processor_time(const std::string& root = "");

// How many of `cores` cores a process can keep busy that is allowed `allowed`
// (allowed_processor_time()): at least 1.
[[nodiscard]] int cores_with_time(int cores, double allowed);

// How many hardware threads this process may run on and has the time to keep busy.
[[nodiscard]] int usable_processors();

}  // namespace penstock
