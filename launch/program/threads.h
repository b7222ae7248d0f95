// launch/program/threads.h -- works out how many CPU threads each rank computes with.
//
// A rank's fair share is the cores that it may run on, divided by the ranks that may run on the
// same cores, and no more than there is processor time for. Every rank gets the number of the rank
// with the smallest share, since results have the same bits only at equal numbers of threads
// (oneDNN sums in another order otherwise). Example: 16 cores and 4 ranks give 4 threads each.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace penstock {

// What one rank may run on.
struct RankCores {
  std::string host;
  int host_cores = 0;  // the cores of the host that jobs may use
  // The physical cores (not hardware threads) that this rank may use, in their order on the
  // machine. A core's number is that of its first hardware thread.
  std::vector<int> cores;
  // The processor time that the ranks of the host may use together, in cores
  // (start/processor_time.h); 0: no limit.
  double time = 0.0;
  int thread_limit = 0;   // the variable OMP_THREAD_LIMIT; 0: it is not set
  int usual_threads = 0;  // the variable OMP_NUM_THREADS; 0: it is not set
};

// The cores as one line of text, for sending to other ranks, and back.
[[nodiscard]] std::string text_of(const RankCores& cores);
[[nodiscard]] RankCores parse_rank_cores(const std::string& text);

// How the ranks of a run use their cores; the same on all ranks, but for `ranks`.
struct ThreadPlan {
  int threads = 1;  // that each rank computes with
  int spare = 1;    // cores of a rank that are left, 1 to 8: how many threads may read data
  // Whether waiting ranks sleep between two looks for messages, since looking all the time would
  // take processor time from ranks that compute.
  bool naps = false;
  // Whether there are ranks whose threads are more than their cores, or have less than the
  // processor time of as many; threads that wait should then sleep (let_idle_threads_sleep()).
  bool crowded = false;
  std::string warning;  // for the user; empty: nothing
  // The cores that each rank will compute on, by world rank; filled by shared_threads() (setup.h),
  // on rank 0 only.
  std::vector<RankCores> ranks = {};
};
// Makes the plan. `asked` is run.threads; 0: a fair share, but no more than any rank's
// OMP_NUM_THREADS. `ranks`: every rank of the run. `starter`, Session::started_by(), decides which
// options of the launcher the warning names. Throws Error(Input) when more are asked for than a
// rank's OMP_THREAD_LIMIT allows: OpenMP would silently start fewer, and oneDNN would leave the
// work of the missing ones undone.
[[nodiscard]] ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks,
                                      const std::string& starter = "mpirun");

// How long a waiting rank sleeps between two looks for messages, for Waits::nap.
[[nodiscard]] std::chrono::microseconds nap_of(const ThreadPlan& plan);

}  // namespace penstock
