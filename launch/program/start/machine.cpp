// launch/program/start/machine.cpp -- see machine.h.
#include "launch/program/start/machine.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/error.h"
#include "launch/program/start/processor_time.h"

namespace penstock {
namespace {

class CpuSet {
 public:
  CpuSet() : set_(hwloc_bitmap_alloc()) {}
  ~CpuSet() { hwloc_bitmap_free(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  [[nodiscard]] hwloc_bitmap_t get() const { return set_; }

 private:
  hwloc_bitmap_t set_;
};

// Returns the first number of a variable, which can be a list, as OpenMP's variables can. Returns 0
// if the variable is not set or has no positive number.
int number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::max(0, std::atoi(text));
}

}  // namespace

struct Machine::Topology {
  hwloc_topology_t all = nullptr;

  // Returns what counts as a core: a core, or a hardware thread if the system does not tell which
  // threads share a core. hwloc lists cores in the order in which they share caches and memory.
  [[nodiscard]] hwloc_obj_type_t unit() const {
    return hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  }
  // Calls visit(the core's number, its hardware threads) for each core.
  template <class Visit>
  void each_core(const Visit& visit) const {
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(all, unit(), core)) != nullptr) {
      // The number of a core is that of its first hardware thread. So all processes of the host use
      // the same number, even if some of them see only a part of the host.
      visit(hwloc_bitmap_first(core->cpuset), core->cpuset);
    }
  }
};

Machine::Machine() : topology_(std::make_unique<Topology>()) {
  // Cores that a control group withholds are included, so that all processes see the same machine.
  // Devices and caches are not looked for, because to find them takes longer than all else
  // together.
  hwloc_topology_t& all = topology_->all;
  if (hwloc_topology_init(&all) != 0) fail_resource("hwloc cannot be used: out of memory?");
  (void)hwloc_topology_set_all_types_filter(all, HWLOC_TYPE_FILTER_KEEP_NONE);
  (void)hwloc_topology_set_type_filter(all, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  (void)hwloc_topology_set_flags(all, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(all) != 0) {
    hwloc_topology_destroy(all);
    fail_resource("hwloc cannot tell the cores of this machine: is /sys mounted?");
  }
}

Machine::~Machine() {
  hwloc_topology_destroy(topology_->all);
}

RankCores Machine::own_cores(const std::string& host) const {
  const CpuSet mine;
  if (hwloc_get_cpubind(topology_->all, mine.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_fill(mine.get());
  }
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology_->all);
  RankCores result;
  result.host = host;
  result.time = allowed_processor_time();
  result.thread_limit = number_in_environment("OMP_THREAD_LIMIT");
  result.usual_threads = number_in_environment("OMP_NUM_THREADS");
  topology_->each_core([&](int core, hwloc_const_bitmap_t threads) {
    if (hwloc_bitmap_intersects(threads, allowed) == 0) return;
    ++result.host_cores;
    if (hwloc_bitmap_intersects(threads, mine.get()) != 0) result.cores.push_back(core);
  });
  return result;
}

int Machine::domains() const {
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology_->all);
  // A domain of memory without cores of its own, such as HBM, has the cores of another domain. It
  // is not counted again.
  const CpuSet counted;
  int number = 0;
  hwloc_obj_t domain = nullptr;
  while ((domain = hwloc_get_next_obj_by_type(topology_->all, HWLOC_OBJ_NUMANODE, domain)) !=
         nullptr) {
    if (hwloc_bitmap_intersects(domain->cpuset, allowed) == 0) continue;
    if (hwloc_bitmap_intersects(domain->cpuset, counted.get()) != 0) continue;
    (void)hwloc_bitmap_or(counted.get(), counted.get(), domain->cpuset);
    ++number;
  }
  return std::max(number, 1);
}

void Machine::bind_to(std::span<const int> cores) const {
  const CpuSet wanted;
  topology_->each_core([&](int core, hwloc_const_bitmap_t threads) {
    if (std::ranges::find(cores, core) == cores.end()) return;
    (void)hwloc_bitmap_or(wanted.get(), wanted.get(), threads);
  });
  if (hwloc_bitmap_iszero(wanted.get()) != 0) return;
  (void)hwloc_set_cpubind(topology_->all, wanted.get(), HWLOC_CPUBIND_PROCESS);
  // The binding of memory is preferred, not strict: a rank can need more memory than there is
  // beside its cores.
  (void)hwloc_set_membind(topology_->all, wanted.get(), HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD);
}

}  // namespace penstock
