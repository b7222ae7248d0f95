// kernels/parallel.h -- runs the shares of a loop in parallel: the one parallel region of
// Penstock's own loops. An exception that leaves a region of OpenMP ends the process; here it
// reaches whoever started the loop. Without OpenMP the shares run one after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

namespace penstock {

// Calls f(share) for every share in [0, shares), each on a thread of its own, in a region of
// `threads` (>= shares): threads without a share do nothing. A smaller region would make libgomp
// end the threads that it lacks, and the next larger one make them anew. What any share throws is
// thrown here once all have ended; of several errors, one.
template <class F>
void for_shares([[maybe_unused]] int threads, int shares, const F& f) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int share = 0; share < shares; ++share) {
    try {
      f(share);
    } catch (...) {
#pragma omp critical(penstock_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Cuts [0, items) into contiguous ranges of nearly the same length and calls f(first, last) for
// each, one a thread. There are as many ranges as threads, but at most `items` and at most `worth`,
// the number of threads that the work is worth. A single range is called without a parallel region,
// so that f may begin a region of its own. Throws what f throws.
template <class F>
void share_out(int threads, int64_t items, const F& f, int64_t worth = INT64_MAX) {
  const auto shares = static_cast<int>(std::min({int64_t{threads}, items, worth}));
  if (shares <= 1) {
    if (items > 0) f(int64_t{0}, items);
    return;
  }
  for_shares(threads, shares,
             [&](int share) { f(items * share / shares, items * (share + 1) / shares); });
}

}  // namespace penstock
