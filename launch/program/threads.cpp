// launch/program/threads.cpp -- see threads.h.
#include "launch/program/threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "kernels/amount.h"
#include "kernels/error.h"
#include "launch/program/start/processor_time.h"

namespace penstock {
namespace {

// Returns advice for a user whose ranks are bound to too few cores: how to start with more.
std::string cure_for_binding(const std::string& starter) {
  if (starter == "srun") return "start with srun --cpus-per-task=CORES";
  if (starter == "flux run") return "start with flux run --cores-per-task=CORES";
  if (starter == "mpiexec") {
    return "start with mpiexec -bind-to none (MPICH) or -genv I_MPI_PIN 0 (Intel MPI)";
  }
  return "start with " + starter + " --bind-to none";
}

// Returns how many ranks, `rank` included, are allowed to run on some core on which `rank` is.
int sharing(const RankCores& rank, const std::vector<RankCores>& ranks) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](const RankCores& other) {
    return other.host == rank.host &&
           std::any_of(rank.cores.begin(), rank.cores.end(), [&](int core) {
             return std::ranges::find(other.cores, core) != other.cores.end();
           });
  }));
}

int ranks_on_host(const RankCores& rank, const std::vector<RankCores>& ranks) {
  return static_cast<int>(std::count_if(
      ranks.begin(), ranks.end(), [&](const RankCores& other) { return other.host == rank.host; }));
}

int fair_share(const RankCores& rank, const std::vector<RankCores>& ranks) {
  const int cores = static_cast<int>(rank.cores.size()) / std::max(1, sharing(rank, ranks));
  return cores_with_time(cores, rank.time / ranks_on_host(rank, ranks));
}

bool lack_time(const RankCores& rank, const std::vector<RankCores>& ranks, int threads) {
  return rank.time > 0.0 && rank.time < ranks_on_host(rank, ranks) * threads;
}

// Returns the lowest limit of all ranks, or the greatest int if no rank has a limit.
int least_of_ranks(const std::vector<RankCores>& ranks, int RankCores::*threads) {
  int all = std::numeric_limits<int>::max();
  for (const RankCores& rank : ranks) {
    if (rank.*threads > 0) all = std::min(all, rank.*threads);
  }
  return all;
}

// Returns the number of threads that OMP_THREAD_LIMIT allows every rank. Throws if `asked` is more.
int allowed_threads(int asked, const std::vector<RankCores>& ranks) {
  for (const RankCores& rank : ranks) {
    if (rank.thread_limit > 0 && asked > rank.thread_limit) {
      fail_input(
          fmt::format("run.threads = {}, but OMP_THREAD_LIMIT={} on {} allows fewer: unset it, "
                      "or ask for no more",
                      asked, rank.thread_limit, rank.host));
    }
  }
  return least_of_ranks(ranks, &RankCores::thread_limit);
}

// Holds the limits on the number of threads of a rank.
struct Bounds {
  int fair = std::numeric_limits<int>::max();  // the smallest share of cores that a rank has
  int limit = 0;                               // OMP_THREAD_LIMIT
  int usual = 0;                               // OMP_NUM_THREADS
  const RankCores* poorest = nullptr;  // the rank with the share `fair`; null if there are no ranks
};

Bounds bounds_of(int asked, const std::vector<RankCores>& ranks) {
  Bounds bounds;
  bounds.limit = allowed_threads(asked, ranks);
  bounds.usual = least_of_ranks(ranks, &RankCores::usual_threads);
  for (const RankCores& rank : ranks) {
    const int share = fair_share(rank, ranks);
    if (share < bounds.fair) {
      bounds.fair = share;
      bounds.poorest = &rank;
    }
  }
  return bounds;
}

// Returns the first thing that is wrong with `threads` threads for each rank on the host of the
// poorest rank, or an empty text if nothing is wrong.
std::string warning_about(int threads, int asked, const Bounds& bounds,
                          const std::vector<RankCores>& ranks, const std::string& starter) {
  const RankCores& rank = *bounds.poorest;
  const int local = ranks_on_host(rank, ranks);
  const int bound = static_cast<int>(rank.cores.size());
  const bool leaves_cores = bound * local < rank.host_cores;
  if (leaves_cores && threads > bound) {
    return fmt::format("run.threads = {}, but a rank on {} is bound to {} of {} cores: {}", asked,
                       rank.host, bound, rank.host_cores, cure_for_binding(starter));
  }
  if (lack_time(rank, ranks, threads) && rank.time < rank.host_cores) {
    return fmt::format(
        "a control group, such as a container's, lets {} on {} spend the time of {:.2g} cores: "
        "forecasts are for ranks that have cores of their own, and steps take about {:.2g} times "
        "as long",
        local == 1 ? "the rank" : fmt::format("{} ranks", local), rank.host, rank.time,
        threads * local / rank.time);
  }
  if (threads * local > rank.host_cores && bounds.fair == 1 && threads == 1) {
    return fmt::format(
        "{} ranks share {} on {}: forecasts are for ranks that have cores of their own, and "
        "steps take about {:.2g} times as long",
        local, amount_text(rank.host_cores, "core"), rank.host,
        static_cast<double>(local) / static_cast<double>(rank.host_cores));
  }
  if (asked > bounds.fair) {
    return fmt::format(
        "run.threads = {}, but {} {} {} on {}: more than {} each will wait for one another (if "
        "ranks are bound to cores, {})",
        asked, amount_text(local, "rank"), local == 1 ? "has" : "share",
        amount_text(rank.host_cores, "core"), rank.host, amount_text(bounds.fair, "thread"),
        cure_for_binding(starter));
  }
  if (asked == 0 && threads == bounds.usual && threads < std::min(bounds.fair, bounds.limit)) {
    return fmt::format(
        "OMP_NUM_THREADS={} leaves {} of the {} cores idle that a rank on {} has: unset it, or say "
        "--threads {}",
        bounds.usual, bounds.fair - bounds.usual, bounds.fair, rank.host,
        std::min(bounds.fair, bounds.limit));
  }
  if (asked == 0 && leaves_cores) {
    return fmt::format("the ranks on {} are bound to {} of {} cores each and leave others idle: {}",
                       rank.host, bound, rank.host_cores, cure_for_binding(starter));
  }
  return {};
}

// Eight threads decode faster than any network here trains, so more threads would not help.
constexpr int kMostSpare = 8;

}  // namespace

std::string text_of(const RankCores& cores) {
  return fmt::format("{} {} {} {} {} {}", cores.host, cores.host_cores, cores.time,
                     cores.thread_limit, cores.usual_threads, fmt::join(cores.cores, " "));
}

RankCores parse_rank_cores(const std::string& text) {
  RankCores cores;
  std::istringstream stream(text);
  stream >> cores.host >> cores.host_cores >> cores.time >> cores.thread_limit >>
      cores.usual_threads;
  for (int core = 0; stream >> core;) {
    cores.cores.push_back(core);
  }
  return cores;
}

ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks,
                        const std::string& starter) {
  ThreadPlan plan;
  const Bounds bounds = bounds_of(asked, ranks);
  if (bounds.poorest == nullptr) return plan;
  plan.ranks = ranks;
  plan.threads = asked > 0 ? asked : std::min({bounds.fair, bounds.limit, bounds.usual});
  plan.spare = std::clamp(bounds.fair - plan.threads, 1, kMostSpare);
  plan.naps = std::ranges::any_of(
      ranks, [&](const RankCores& rank) { return lack_time(rank, ranks, plan.threads); });
  plan.crowded = plan.threads > bounds.fair;
  plan.warning = warning_about(plan.threads, asked, bounds, ranks, starter);
  return plan;
}

std::chrono::microseconds nap_of(const ThreadPlan& plan) {
  constexpr std::chrono::microseconds kNap{50};  // the system can make it twice as long
  return plan.naps ? kNap : std::chrono::microseconds{};
}

}  // namespace penstock
