// launch/program/threads.h -- how many threads a rank gets: the cores it may run on, shared fairly
// with the ranks that may run on the same ones, and no more than there is processor time for. Every
// rank gets the same number, for oneDNN repeats itself to the bit only at equal thread counts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace penstock {

struct RankCores {
  std::string host;
  int host_cores = 0;  // of the host, as far as a job may use them at all
  // The physical cores that this rank may use (not hardware threads), in their order on the
  // machine.
  std::vector<int> cores;
  // Processor time that the ranks of the host may spend together, in cores
  // (start/processor_time.h); 0: as much as they have cores.
  double time = 0.0;
  int thread_limit = 0;   // OMP_THREAD_LIMIT; 0: it is not set
  int usual_threads = 0;  // OMP_NUM_THREADS; 0: it is not set
};

// To and from one line of text, for sending.
[[nodiscard]] std::string text_of(const RankCores& cores);
[[nodiscard]] RankCores parse_rank_cores(const std::string& text);

struct ThreadPlan {
  int threads = 1;  // per rank
  int spare = 1;    // cores of a rank that those leave, 1 to 8: threads that read data
  // True: ranks that look for messages without a pause would spend the time of those that compute.
  bool naps = false;
  std::string warning;  // empty: nothing to say
  // The cores that each rank will compute on, by world rank; from shared_threads(), on rank 0 only.
  std::vector<RankCores> ranks = {};
};
// `asked` is run.threads, 0 for what is fair, but no more than any OMP_NUM_THREADS; `ranks` has
// every rank of the run; `starter` is Session::started_by(), which knows how to bind otherwise.
// Throws Error(Input) where more are asked for than a rank's OMP_THREAD_LIMIT allows: OpenMP would
// give it fewer without a word, and oneDNN leave out the work of those that are missing.
[[nodiscard]] ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks,
                                      const std::string& starter = "mpirun");

// The nap of a waiting rank, for Waits.
[[nodiscard]] std::chrono::microseconds nap_of(const ThreadPlan& plan);

}  // namespace penstock
