// What a profiler is to NVTX: a library that NVTX_INJECTION64_PATH names. Writes the names of the
// domain and its ranges to the file that PENSTOCK_NVTX_LOG names, a line each, ends as "end".
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* heard() {
  static std::FILE* const file = std::fopen(std::getenv("PENSTOCK_NVTX_LOG"), "w");
  return file;
}

nvtxDomainHandle_t NVTX_API create(const char* name) {
  std::fprintf(heard(), "domain %s\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(heard());
}

int NVTX_API push(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* attributes) {
  std::fprintf(heard(), "%s\n", attributes->message.ascii);
  return 0;
}

int NVTX_API pop(nvtxDomainHandle_t /*domain*/) {
  std::fputs("end\n", heard());
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
