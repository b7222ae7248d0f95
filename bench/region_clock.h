// bench/region_clock.h -- counts the parallel regions (OpenMP) that the calling thread begins, and
// the processor time that it spends outside of them: what more threads make no faster.
//
// A program that is linked with region_clock.cpp has its own GOMP_parallel, the function by which
// compilers begin a region, in front of the OpenMP runtime's. It costs two readings of a clock a
// region while the clock runs, and one branch otherwise.
#pragma once

#include <cstdint>

namespace penstock {

struct RegionTimes {
  double outside_s = 0.0;  // processor time of the thread, outside of its parallel regions
  double all_s = 0.0;      // processor time of the whole process
  int64_t regions = 0;
};

// Starts the clock of the calling thread, of which there is one at a time.
void start_region_clock();
// Stops it, and returns what was spent since it was started.
[[nodiscard]] RegionTimes stop_region_clock();

}  // namespace penstock
