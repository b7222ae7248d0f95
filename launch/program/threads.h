// launch/program/threads.h -- how many threads a rank gets: the cores it may run on, shared fairly
// with the ranks that may run on the same ones. Every rank gets the same number, for oneDNN repeats
// itself to the bit only at equal thread counts.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace penstock {

struct RankCores {
  std::string host;
  int host_cores = 0;   // of the whole host, as far as the system shows it
  std::set<int> cores;  // that this rank may use: physical ones, not hardware threads
};

// Of this process, from its affinity mask.
[[nodiscard]] RankCores own_cores(const std::string& host);
// To and from one line of text, for sending.
[[nodiscard]] std::string text_of(const RankCores& cores);
[[nodiscard]] RankCores parse_rank_cores(const std::string& text);

struct ThreadPlan {
  int threads = 1;      // per rank
  int spare = 1;        // cores of a rank that those leave, 1 to 8: threads that read data
  std::string warning;  // empty: nothing to say
  // By world rank, those that it will compute on; of shared_threads(), on rank 0 only.
  std::vector<RankCores> ranks = {};
};
// `asked` is run.threads, 0 for what is fair; `ranks` has every rank of the run.
[[nodiscard]] ThreadPlan plan_threads(int asked, const std::vector<RankCores>& ranks);

}  // namespace penstock
