// kernels/cuda/queue/profiler.cpp -- ranges by NVTX 3, whose header loads what a profiler injects.
#include "kernels/profiler.h"

#include <nvtx3/nvToolsExt.h>

namespace penstock {
namespace {

// Returns our own domain: ranges of other libraries are in domains of their own.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("penstock");
  return made;
}

}  // namespace

void begin_profiler_range(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &attributes);
}

void end_profiler_range() {
  nvtxDomainRangePop(domain());
}

}  // namespace penstock
