// kernels/profiler.h -- marks ranges with names in the timeline of a profiler that is attached
// from outside. With the CUDA backend they are NVTX's, which Nsight Systems shows above the kernels
// that were launched within them, and where no profiler is attached a call is a test of a pointer.
// Without the backend nothing is done.
#pragma once

namespace penstock {

// Begin and end a range of the calling thread. Ranges nest: the end belongs to the range that was
// begun last. The name is copied.
void begin_profiler_range(const char* name);
void end_profiler_range();

}  // namespace penstock
