#include "kernels/cuda/cuda_fault.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr const char* kDriver =
    "NVIDIA's driver does not fit this program: install a newer one (nvidia-smi names it)";
constexpr const char* kBuild =
    "this program was not built for that GPU: configure and build it on a machine that has one";
constexpr const char* kHardware =
    "the GPU or its link has failed: look at dmesg and nvidia-smi -q, reset it or take another";
constexpr const char* kBusy =
    "another process holds the GPU, or nobody may use it: look at nvidia-smi, or take another";
constexpr const char* kSetUp =
    "the GPU or its driver is not ready: look at nvidia-smi and dmesg, or use --device cpu";

// The oldest toolkits that are supported do not declare these error codes.
constexpr auto kContained = static_cast<cudaError_t>(226);
constexpr auto kExternalDevice = static_cast<cudaError_t>(911);

struct MissingRow {
  cudaError_t status;
  const char* advice;
};
// Lists all error codes that a correct program can meet on a faulty machine.
constexpr std::array kMissing = {
    MissingRow{cudaErrorInitializationError, kSetUp},
    MissingRow{cudaErrorStubLibrary, kDriver},
    MissingRow{cudaErrorInsufficientDriver, kDriver},
    MissingRow{cudaErrorCallRequiresNewerDriver, kDriver},
    MissingRow{cudaErrorDevicesUnavailable, kBusy},
    MissingRow{cudaErrorIncompatibleDriverContext, kDriver},
    MissingRow{cudaErrorNoDevice, kSetUp},
    MissingRow{cudaErrorInvalidDevice, kSetUp},
    MissingRow{cudaErrorDeviceNotLicensed, kSetUp},
    MissingRow{cudaErrorSoftwareValidityNotEstablished, kSetUp},
    MissingRow{cudaErrorStartupFailure, kSetUp},
    MissingRow{cudaErrorInvalidKernelImage, kBuild},
    MissingRow{cudaErrorDeviceUninitialized, kSetUp},
    // A kernel that was compiled for other GPUs gives this error if its attributes are asked for
    // before its first launch.
    MissingRow{cudaErrorInvalidDeviceFunction, kBuild},
    MissingRow{cudaErrorNoKernelImageForDevice, kBuild},
    MissingRow{cudaErrorECCUncorrectable, kHardware},
    MissingRow{cudaErrorNvlinkUncorrectable, kHardware},
    MissingRow{cudaErrorJitCompilerNotFound, kDriver},
    MissingRow{cudaErrorUnsupportedPtxVersion, kDriver},
    MissingRow{cudaErrorJitCompilationDisabled, kBuild},
    MissingRow{kContained, kHardware},
    MissingRow{cudaErrorSharedObjectSymbolNotFound, kDriver},
    MissingRow{cudaErrorSharedObjectInitFailed, kDriver},
    MissingRow{cudaErrorOperatingSystem, kSetUp},
    MissingRow{cudaErrorLaunchTimeout, kBusy},
    MissingRow{cudaErrorNotSupported, kSetUp},
    MissingRow{cudaErrorSystemNotReady, kSetUp},
    MissingRow{cudaErrorSystemDriverMismatch, kDriver},
    MissingRow{cudaErrorCompatNotSupportedOnDevice, kDriver},
    MissingRow{cudaErrorMpsConnectionFailed, kSetUp},
    MissingRow{cudaErrorMpsRpcFailure, kSetUp},
    MissingRow{cudaErrorMpsServerNotReady, kSetUp},
    MissingRow{cudaErrorMpsMaxClientsReached, kBusy},
    MissingRow{cudaErrorMpsMaxConnectionsReached, kBusy},
    MissingRow{cudaErrorMpsClientTerminated, kBusy},
    MissingRow{kExternalDevice, kHardware},
    MissingRow{cudaErrorUnknown, kHardware},
};

const MissingRow* missing_row(cudaError_t status) {
  const auto* row = std::find_if(kMissing.begin(), kMissing.end(),
                                 [&](const MissingRow& each) { return each.status == status; });
  return row == kMissing.end() ? nullptr : row;
}

}  // namespace

Fault fault_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return Fault::Memory;
  return missing_row(status) != nullptr ? Fault::Missing : Fault::Bug;
}

Fault fault_of(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return Fault::Memory;
    case CUBLAS_STATUS_NOT_INITIALIZED:  // at the first call: cuBLAS finds no usable device
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_LICENSE_ERROR:
      return Fault::Missing;
    default:
      return Fault::Bug;
  }
}

Fault fault_of(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return Fault::Memory;
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_LICENSE_ERROR:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART:
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:
    case CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE:
      return Fault::Missing;
    default:
      return Fault::Bug;
  }
}

Fault fault_beside(Fault library, cudaError_t noted) {
  if (noted == cudaSuccess || noted == cudaErrorNotReady) return library;
  return library == Fault::Memory ? library : fault_of(noted);
}

std::string advice_for(Fault fault, cudaError_t status) {
  if (fault == Fault::Bug) return "and what the same run says with CUDA_LAUNCH_BLOCKING=1";
  if (fault != Fault::Missing) return "";
  const MissingRow* row = missing_row(status);
  return row == nullptr ? kSetUp : row->advice;
}

}  // namespace penstock
