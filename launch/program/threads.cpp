// launch/program/threads.cpp -- see threads.h.
#include "launch/program/threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace penstock {
namespace {

// The core of a hardware thread, called by its first one: "3", "3,67" and "3-4" are core 3.
int core_of(int cpu) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  int first = cpu;
  return file >> first ? first : cpu;  // a system that does not say: each for itself
}

// Of the ranks, how many may run on a core that `rank` may run on; itself included.
int sharing(const RankCores& rank, const std::vector<RankCores>& ranks) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](const RankCores& other) {
    return other.host == rank.host &&
           std::any_of(rank.cores.begin(), rank.cores.end(),
                       [&](int core) { return other.cores.contains(core); });
  }));
}

int fair_share(const RankCores& rank, const std::vector<RankCores>& ranks) {
  return std::max(1, static_cast<int>(rank.cores.size()) / std::max(1, sharing(rank, ranks)));
}

// More threads decode no faster than any network here learns.
constexpr int kMostSpare = 8;

int ranks_on_host(const RankCores& rank, const std::vector<RankCores>& ranks) {
  return static_cast<int>(std::count_if(
      ranks.begin(), ranks.end(), [&](const RankCores& other) { return other.host == rank.host; }));
}

}  // namespace

RankCores own_cores(const std::string& host) {
  RankCores result;
  result.host = host;
  const int cpus = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  std::set<int> all;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    all.insert(core_of(cpu));
  }
  result.host_cores = static_cast<int>(all.size());
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) {  // more than 1024 hardware threads
    result.cores = all;
    return result;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) result.cores.insert(core_of(cpu));
  }
  return result;
}

std::string text_of(const RankCores& cores) {
  return fmt::format("{} {} {}", cores.host, cores.host_cores, fmt::join(cores.cores, " "));
}

RankCores parse_rank_cores(const std::string& text) {
  RankCores cores;
  std::istringstream stream(text);
  stream >> cores.host >> cores.host_cores;
  for (int core = 0; stream >> core;) {
    cores.cores.insert(core);
  }
  return cores;
}

ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks) {
  ThreadPlan plan;
  int fair = std::numeric_limits<int>::max();
  const RankCores* poorest = nullptr;
  for (const RankCores& rank : ranks) {
    const int share = fair_share(rank, ranks);
    if (share < fair) {
      fair = share;
      poorest = &rank;
    }
  }
  if (poorest == nullptr) return plan;
  plan.ranks = ranks;
  plan.threads = asked > 0 ? asked : fair;
  plan.spare = std::clamp(fair - plan.threads, 1, kMostSpare);
  const int local = ranks_on_host(*poorest, ranks);
  const int bound = static_cast<int>(poorest->cores.size());
  if (bound * local < poorest->host_cores && plan.threads > bound) {
    plan.warning = fmt::format(
        "run.threads = {}, but a rank on {} is bound to {} of {} cores: start with mpirun "
        "--bind-to "
        "none",
        asked, poorest->host, bound, poorest->host_cores);
  } else if (asked > fair) {
    plan.warning = fmt::format(
        "run.threads = {}, but {} ranks share {} cores on {}: more than {} threads each will wait "
        "for one another (if ranks are bound to cores, mpirun --bind-to none)",
        asked, local, poorest->host_cores, poorest->host, fair);
  } else if (asked == 0 && bound * local < poorest->host_cores) {
    plan.warning = fmt::format(
        "the ranks on {} are bound to {} of {} cores each and leave others idle: start with mpirun "
        "--bind-to none",
        poorest->host, bound, poorest->host_cores);
  }
  return plan;
}

}  // namespace penstock
