// launch/program/threads.cpp -- see threads.h.
#include "launch/program/threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "kernels/error.h"
#include "launch/program/start/processor_time.h"

namespace penstock {
namespace {

// How to be bound to more cores.
std::string cure_for_binding(const std::string& starter) {
  if (starter == "srun") return "start with srun --cpus-per-task=CORES";
  if (starter == "flux run") return "start with flux run --cores-per-task=CORES";
  return "start with " + starter + (starter == "mpiexec" ? " -bind-to none" : " --bind-to none");
}

// Of the ranks, how many may run on a core that `rank` may run on; itself included.
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

// The least of the ranks that have one.
int least(const std::vector<RankCores>& ranks, int RankCores::*threads) {
  int all = std::numeric_limits<int>::max();
  for (const RankCores& rank : ranks) {
    if (rank.*threads > 0) all = std::min(all, rank.*threads);
  }
  return all;
}

// What every rank may have; throws if `asked` is more.
int allowed_threads(int asked, const std::vector<RankCores>& ranks) {
  for (const RankCores& rank : ranks) {
    if (rank.thread_limit > 0 && asked > rank.thread_limit) {
      fail_input(
          fmt::format("run.threads = {}, but OMP_THREAD_LIMIT={} on {} allows fewer: unset it, "
                      "or ask for no more",
                      asked, rank.thread_limit, rank.host));
    }
  }
  return least(ranks, &RankCores::thread_limit);
}

// More threads decode no faster than any network here learns.
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
  const int most = allowed_threads(asked, ranks);
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
  const int usual = least(ranks, &RankCores::usual_threads);
  plan.threads = asked > 0 ? asked : std::min({fair, most, usual});
  plan.spare = std::clamp(fair - plan.threads, 1, kMostSpare);
  plan.naps = std::ranges::any_of(
      ranks, [&](const RankCores& rank) { return lack_time(rank, ranks, plan.threads); });
  const int local = ranks_on_host(*poorest, ranks);
  const int bound = static_cast<int>(poorest->cores.size());
  if (bound * local < poorest->host_cores && plan.threads > bound) {
    plan.warning =
        fmt::format("run.threads = {}, but a rank on {} is bound to {} of {} cores: {}", asked,
                    poorest->host, bound, poorest->host_cores, cure_for_binding(starter));
  } else if (lack_time(*poorest, ranks, plan.threads) && poorest->time < poorest->host_cores) {
    plan.warning = fmt::format(
        "a control group, such as a container's, lets {} on {} spend the time of {:.2g} cores: "
        "forecasts are for ranks that have cores of their own, and steps take about {:.2g} times "
        "as long",
        local == 1 ? "the rank" : fmt::format("{} ranks", local), poorest->host, poorest->time,
        plan.threads * local / poorest->time);
  } else if (plan.threads * local > poorest->host_cores && fair == 1 && plan.threads == 1) {
    plan.warning = fmt::format(
        "{} ranks share {} cores on {}: forecasts are for ranks that have cores of their own, and "
        "steps take about {:.2g} times as long",
        local, poorest->host_cores, poorest->host,
        static_cast<double>(local) / static_cast<double>(poorest->host_cores));
  } else if (asked > fair) {
    plan.warning = fmt::format(
        "run.threads = {}, but {} ranks share {} cores on {}: more than {} threads each will wait "
        "for one another (if ranks are bound to cores, {})",
        asked, local, poorest->host_cores, poorest->host, fair, cure_for_binding(starter));
  } else if (asked == 0 && plan.threads == usual && usual < std::min(fair, most)) {
    plan.warning = fmt::format(
        "OMP_NUM_THREADS={} leaves {} of the {} cores idle that a rank on {} has: unset it, or say "
        "--threads {}",
        usual, fair - usual, fair, poorest->host, std::min(fair, most));
  } else if (asked == 0 && bound * local < poorest->host_cores) {
    plan.warning =
        fmt::format("the ranks on {} are bound to {} of {} cores each and leave others idle: {}",
                    poorest->host, bound, poorest->host_cores, cure_for_binding(starter));
  }
  return plan;
}

std::chrono::microseconds nap_of(const ThreadPlan& plan) {
  constexpr std::chrono::microseconds kNap{50};  // the system adds as much
  return plan.naps ? kNap : std::chrono::microseconds{};
}

}  // namespace penstock
