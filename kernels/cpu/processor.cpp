#include "kernels/cpu/processor.h"

#include <oneapi/dnnl/dnnl.h>

namespace penstock {

Processor processor_at_hand() {
  const auto bits = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  const auto has = [bits](dnnl_cpu_isa_t isa) {
    const auto needed = static_cast<unsigned>(isa);
    return (bits & needed) == needed;
  };
  return {.bf16 = has(dnnl_cpu_isa_avx512_core_bf16), .avx512 = has(dnnl_cpu_isa_avx512_core)};
}

}  // namespace penstock
