// kernels/cpu/processor/processor.h -- finds out about the processor of this process, makes it
// take denormal numbers for zero, and says how its threads wait.
#pragma once

#include "kernels/device_model.h"

namespace penstock {

// The processor of this process as oneDNN sees it: ONEDNN_MAX_CPU_ISA makes an older one of it.
[[nodiscard]] Processor processor_at_hand();

// The instruction set that these kernels were compiled for, as in -march; where a build has several
// libraries of kernels, the set of the library that was loaded.
[[nodiscard]] const char* kernels_level();

// Makes the calling thread, and those that help it in parallel regions of up to `threads`, take
// numbers too small for a normal one (below 1.2e-38) for zero, where they read them and where they
// compute them. Processors take a hundred cycles for such a number, and the moments of a parameter
// without gradients decay into them. All threads do so alike: which of them has which elements must
// change no bit. On processors that are not x86 nothing is done.
void flush_denormals(int threads);

// Makes the threads that help the calling one sleep as soon as a parallel region ends. Else they
// look for the next region for a while, at no one's cost where they have cores of their own, but
// where threads share cores they take the time of those that compute. Does nothing under another
// OpenMP than LLVM's, and where the variable KMP_BLOCKTIME has said how long they look.
// https://openmp.llvm.org/design/Runtimes.html
void let_idle_threads_sleep();

}  // namespace penstock
