// tests/host_cuda/driver.cpp -- stands for NVIDIA's driver (libcuda.so.1) where cuDNN makes plans
// for a GPU that is not there (attention_plans_test.cpp). cuDNN compiles a plan's kernels itself,
// for the architecture that it is told of, and wants a driver that loads them: this one says that
// it has, and does nothing. What cuDNN looks up, and no more, is here.
namespace {

int something = 0;
int handed_out(void** handle) {
  *handle = &something;
  return 0;
}

}  // namespace

// The names are the driver's; these functions say that they have succeeded.
#define PENSTOCK_DOES_NOTHING(name) \
  extern "C" int name();            \
  int name() {                      \
    return 0;                       \
  }
#define PENSTOCK_HANDS_OUT(name)      \
  extern "C" int name(void** handle); \
  int name(void** handle) {           \
    return handed_out(handle);        \
  }

// NOLINTBEGIN(readability-identifier-naming)
PENSTOCK_HANDS_OUT(cuLibraryLoadData)
PENSTOCK_HANDS_OUT(cuLibraryLoadFromFile)
PENSTOCK_HANDS_OUT(cuLibraryGetKernel)
PENSTOCK_HANDS_OUT(cuModuleLoadData)
PENSTOCK_HANDS_OUT(cuModuleLoadDataEx)
PENSTOCK_HANDS_OUT(cuModuleLoadFatBinary)
PENSTOCK_HANDS_OUT(cuModuleGetFunction)
PENSTOCK_HANDS_OUT(cuCtxGetCurrent)
PENSTOCK_HANDS_OUT(cuDevicePrimaryCtxRetain)

PENSTOCK_DOES_NOTHING(cuInit)
PENSTOCK_DOES_NOTHING(cuLibraryUnload)
PENSTOCK_DOES_NOTHING(cuLaunchKernel)
PENSTOCK_DOES_NOTHING(cuLaunchKernelEx)
PENSTOCK_DOES_NOTHING(cuLaunchCooperativeKernel)
PENSTOCK_DOES_NOTHING(cuLinkCreate)
PENSTOCK_DOES_NOTHING(cuLinkCreate_v2)
PENSTOCK_DOES_NOTHING(cuLinkAddData)
PENSTOCK_DOES_NOTHING(cuLinkAddData_v2)
PENSTOCK_DOES_NOTHING(cuLinkAddFile_v2)
PENSTOCK_DOES_NOTHING(cuLinkComplete)
PENSTOCK_DOES_NOTHING(cuLinkDestroy)
PENSTOCK_DOES_NOTHING(cuGetErrorString)
PENSTOCK_DOES_NOTHING(cuGetErrorName)
PENSTOCK_DOES_NOTHING(cuDeviceGet)
PENSTOCK_DOES_NOTHING(cuDeviceGetCount)
PENSTOCK_DOES_NOTHING(cuDeviceGetAttribute)
PENSTOCK_DOES_NOTHING(cuDevicePrimaryCtxReset)
PENSTOCK_DOES_NOTHING(cuDevicePrimaryCtxRelease)
PENSTOCK_DOES_NOTHING(cuCtxPushCurrent)
PENSTOCK_DOES_NOTHING(cuCtxPopCurrent)
PENSTOCK_DOES_NOTHING(cuCtxGetLimit)
PENSTOCK_DOES_NOTHING(cuCtxGetDevice)
PENSTOCK_DOES_NOTHING(cuStreamGetCtx)
PENSTOCK_DOES_NOTHING(cuStreamSynchronize)
PENSTOCK_DOES_NOTHING(cuOccupancyMaxPotentialClusterSize)
PENSTOCK_DOES_NOTHING(cuOccupancyMaxActiveBlocksPerMultiprocessor)
PENSTOCK_DOES_NOTHING(cuKernelSetAttribute)
PENSTOCK_DOES_NOTHING(cuKernelGetAttribute)
PENSTOCK_DOES_NOTHING(cuFuncSetAttribute)
PENSTOCK_DOES_NOTHING(cuFuncGetAttribute)
PENSTOCK_DOES_NOTHING(cuTensorMapEncodeTiled)
PENSTOCK_DOES_NOTHING(cuModuleUnload)
PENSTOCK_DOES_NOTHING(cuModuleGetGlobal_v2)
PENSTOCK_DOES_NOTHING(cuMemcpyDtoH_v2)

// Tables of functions that have no names: there are none, CUDA_ERROR_NOT_FOUND.
extern "C" int cuGetExportTable();
int cuGetExportTable() {
  return 500;
}
extern "C" int cuDriverGetVersion(int* version);
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
