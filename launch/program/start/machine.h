// launch/program/start/machine.h -- Machine: this host's cores and memory as hwloc sees them, and
// binding to a part of them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "launch/program/threads.h"

namespace penstock {

class Machine {
 public:
  // Throws Error(Resource) where hwloc cannot look at the machine.
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The cores of this process, from its affinity mask and its control groups.
  [[nodiscard]] RankCores own_cores(const std::string& host) const;
  // Binds all threads of this process to those of `cores` that this host has. Memory that this
  // thread, or a thread that it starts, touches first comes from the NUMA nodes beside them while
  // these have any. What the system does not allow is left as it is.
  void bind_to(std::span<const int> cores) const;

 private:
  struct Topology;
  std::unique_ptr<Topology> topology_;
};

}  // namespace penstock
