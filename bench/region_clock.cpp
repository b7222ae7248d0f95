#include "bench/region_clock.h"

#include <dlfcn.h>

#include <ctime>

namespace {

using Work = void(void*);
using BeginRegion = void(Work*, void*, unsigned, unsigned);

double seconds_of(clockid_t clock) {
  timespec now{};
  (void)clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What the clock of this thread has counted; a region within a region is part of it.
struct Count {
  bool runs = false, in_region = false;
  double inside_s = 0.0, start_s = 0.0, process_start_s = 0.0;
  int64_t regions = 0;
};
thread_local Count count;

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is the OpenMP runtime's
extern "C" void GOMP_parallel(Work* work, void* data, unsigned threads, unsigned flags) {
  static BeginRegion* const begin =
      reinterpret_cast<BeginRegion*>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  if (!count.runs || count.in_region) {
    begin(work, data, threads, flags);
    return;
  }
  count.in_region = true;
  const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  begin(work, data, threads, flags);
  count.inside_s += seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  count.in_region = false;
  ++count.regions;
}

namespace penstock {

void start_region_clock() {
  count = {.runs = true,
           .start_s = seconds_of(CLOCK_THREAD_CPUTIME_ID),
           .process_start_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

RegionTimes stop_region_clock() {
  count.runs = false;
  return {.outside_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - count.start_s - count.inside_s,
          .all_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - count.process_start_s,
          .regions = count.regions};
}

}  // namespace penstock
