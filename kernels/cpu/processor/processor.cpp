#include "kernels/cpu/processor/processor.h"

#include <oneapi/dnnl/dnnl.h>
#ifdef __SSE2__
#include <pmmintrin.h>
#endif

#include <cstdlib>

#include "kernels/parallel.h"

// LLVM's OpenMP has this function. GCC's does not; with GCC's the weak symbol is null.
extern "C" __attribute__((weak)) void kmp_set_blocktime(int milliseconds);

namespace penstock {

Processor processor_at_hand() {
  const auto bits = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  const auto has = [bits](dnnl_cpu_isa_t isa) {
    const auto needed = static_cast<unsigned>(isa);
    return (bits & needed) == needed;
  };
  return {.bf16 = has(dnnl_cpu_isa_avx512_core_bf16),
          .avx512 = has(dnnl_cpu_isa_avx512_core),
          .amx = has(dnnl_cpu_isa_avx512_core_amx),
          .at_hand = true};
}

const char* kernels_level() {
  return PENSTOCK_KERNELS_LEVEL;
}

namespace {

void flush_denormals_here() {
#ifdef __SSE2__
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#endif
}

}  // namespace

void flush_denormals(int threads) {
  flush_denormals_here();  // threads that start later inherit the mode
  // Threads that exist already do not inherit the mode, so each of these threads sets it.
  for_shares(threads, threads, [](int /*share*/) { flush_denormals_here(); });
}

void let_idle_threads_sleep() {
  const bool asked = std::getenv("KMP_BLOCKTIME") != nullptr;
  if (kmp_set_blocktime != nullptr && !asked) kmp_set_blocktime(0);
}

}  // namespace penstock
