// launch/program/threads.h -- how many threads a rank gets: the cores it may run on, shared fairly
// with the ranks that may run on the same cores, and no more than there is processor time for.
// Every rank gets the same number, since oneDNN gives the same bits only at equal thread counts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace penstock {

// What a rank may run on.
struct RankCores {
  std::string host;
  int host_cores = 0;  // the cores of the host that jobs may use
  // The physical cores that this rank may use (not hardware threads), in their order on the
  // machine.
  std::vector<int> cores;
  // Processor time that the ranks of the host may use together, in cores
  // (start/processor_time.h); 0: no limit.
  double time = 0.0;
  int thread_limit = 0;   // OMP_THREAD_LIMIT; 0: it is not set
  int usual_threads = 0;  // OMP_NUM_THREADS; 0: it is not set
};

// The cores as one line of text, for sending, and back.
[[nodiscard]] std::string text_of(const RankCores& cores);
[[nodiscard]] RankCores parse_rank_cores(const std::string& text);

struct ThreadPlan {
  int threads = 1;  // per rank
  int spare = 1;    // cores of a rank that they leave, 1 to 8, for threads that read data
  // Whether waiting ranks sleep between looks for messages: they would otherwise take the time of
  // ranks that compute.
  bool naps = false;
  std::string warning;  // empty: nothing to say
  // The cores that each rank will compute on, by world rank; from shared_threads(), on rank 0 only.
  std::vector<RankCores> ranks = {};
};
// `asked` is run.threads; 0: a fair share, but no more than any rank's OMP_NUM_THREADS. `ranks` has
// every rank of the run; `starter`, Session::started_by(), decides which options of the launcher
// the warning advises. Throws Error(Input) where more are asked for than a rank's OMP_THREAD_LIMIT
// allows: OpenMP would silently start fewer, and oneDNN leave out the work of the missing ones.
[[nodiscard]] ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks,
                                      const std::string& starter = "mpirun");

// Waits::nap for that plan: how long a waiting rank sleeps between two looks for messages.
[[nodiscard]] std::chrono::microseconds nap_of(const ThreadPlan& plan);

}  // namespace penstock
