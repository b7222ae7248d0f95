// launch/program/start/machine.h -- Machine: the cores and NUMA nodes of this host, as the library
// hwloc sees them: which cores this process may use, and binding it to some of them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "launch/program/threads.h"

namespace penstock {

class Machine {
 public:
  // Looks at the host. Throws Error(Resource) where hwloc cannot.
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // What this process may use: its cores, by its affinity mask and its control groups, its
  // processor time and OpenMP's limits on threads. `host` is the host's name, for the result.
  [[nodiscard]] RankCores own_cores(const std::string& host) const;
  // How many NUMA domains have cores that a job on this host may use; at least 1.
  [[nodiscard]] int domains() const;
  // Binds all threads of this process to those of `cores` that this host has. Memory that this
  // thread, or one that it starts later, touches first then comes from the NUMA nodes beside these
  // cores while they have any. What the system does not allow is silently left as it is.
  void bind_to(std::span<const int> cores) const;

 private:
  struct Topology;
  std::unique_ptr<Topology> topology_;
};

}  // namespace penstock
