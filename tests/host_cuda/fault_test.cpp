// What a status of each library means: memory that ran out, something that is missing, a bug, or
// another rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/status.h"
#include "runtime/system/comm/cuda/nccl_fault.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

template <class Status>
void expect_all(std::initializer_list<Status> statuses, Fault fault) {
  for (const Status status : statuses) {
    EXPECT_EQ(fault_of(status), fault) << static_cast<int>(status);
  }
}

TEST(Faults, OfCuda) {
  expect_all({cudaErrorMemoryAllocation}, Fault::Memory);
  expect_all(
      {cudaErrorNoDevice, cudaErrorInvalidDevice, cudaErrorInsufficientDriver, cudaErrorStubLibrary,
       cudaErrorSystemDriverMismatch, cudaErrorDevicesUnavailable, cudaErrorECCUncorrectable,
       cudaErrorNvlinkUncorrectable, cudaErrorSystemNotReady, cudaErrorNoKernelImageForDevice,
       cudaErrorInvalidDeviceFunction, cudaErrorMpsMaxClientsReached, cudaErrorUnknown,
       cudaErrorInitializationError, static_cast<cudaError_t>(226)},
      Fault::Missing);
  expect_all({cudaErrorIllegalAddress, cudaErrorMisalignedAddress, cudaErrorInvalidValue,
              cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorInvalidConfiguration,
              cudaErrorLaunchOutOfResources, cudaErrorIllegalInstruction, cudaErrorInvalidPc,
              cudaErrorInvalidAddressSpace, cudaErrorHardwareStackError,
              cudaErrorInvalidResourceHandle, cudaErrorStreamCaptureInvalidated,
              cudaErrorGraphExecUpdateFailure, static_cast<cudaError_t>(12345)},
             Fault::Bug);
}

TEST(Faults, OfCublas) {
  expect_all({CUBLAS_STATUS_ALLOC_FAILED}, Fault::Memory);
  expect_all(
      {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_LICENSE_ERROR},
      Fault::Missing);
  expect_all(
      {CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_MAPPING_ERROR, CUBLAS_STATUS_EXECUTION_FAILED,
       CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED},
      Fault::Bug);
}

TEST(Faults, OfCudnn) {
  expect_all({CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
              CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED},
             Fault::Memory);
  expect_all({CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH,
              CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH,
              CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER,
              CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING},
             Fault::Missing);
  expect_all(
      {CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
       CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_SHAPE, CUDNN_STATUS_INTERNAL_ERROR,
       CUDNN_STATUS_EXECUTION_FAILED, CUDNN_STATUS_EXECUTION_FAILED_CUDART},
      Fault::Bug);
}

TEST(Faults, OfNccl) {
  const auto alone = [](ncclResult_t status) { return fault_of(status, "", cudaSuccess); };
  EXPECT_EQ(alone(ncclRemoteError), Fault::Peer);
  EXPECT_EQ(alone(ncclSystemError), Fault::Missing);
  EXPECT_EQ(alone(ncclUnhandledCudaError), Fault::Missing);
  EXPECT_EQ(alone(ncclInternalError), Fault::Bug);
  EXPECT_EQ(alone(ncclInvalidArgument), Fault::Bug);
  EXPECT_EQ(alone(ncclInvalidUsage), Fault::Bug);
  EXPECT_EQ(fault_of(ncclUnhandledCudaError, "", cudaErrorMemoryAllocation), Fault::Memory);
  EXPECT_EQ(fault_of(ncclUnhandledCudaError, "", cudaErrorIllegalAddress), Fault::Bug);
  EXPECT_EQ(fault_of(ncclUnhandledCudaError, "Cuda failure 2 'out of memory'", cudaSuccess),
            Fault::Memory);
}

// A library knows less than CUDA of what went wrong on the device, and more of its own memory.
TEST(Faults, WhatCudaHasNotedDecides) {
  EXPECT_EQ(fault_beside(Fault::Bug, cudaSuccess), Fault::Bug);
  EXPECT_EQ(fault_beside(Fault::Bug, cudaErrorNotReady), Fault::Bug);
  EXPECT_EQ(fault_beside(Fault::Bug, cudaErrorMemoryAllocation), Fault::Memory);
  EXPECT_EQ(fault_beside(Fault::Bug, cudaErrorECCUncorrectable), Fault::Missing);
  EXPECT_EQ(fault_beside(Fault::Missing, cudaErrorIllegalAddress), Fault::Bug);
  EXPECT_EQ(fault_beside(Fault::Memory, cudaErrorInvalidValue), Fault::Memory);
}

template <class Status>
Error thrown_for(Status status) {
  try {
    check_status("someCall(its, arguments)", status);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::Peer, "nothing was thrown"};
}

TEST(Faults, AreToldApartByCodeAndWords) {
  const Error memory = thrown_for(cudaErrorMemoryAllocation);
  EXPECT_EQ(memory.exit_code(), 3);
  EXPECT_THAT(memory.what(), AllOf(StartsWith(kOutOfMemory), HasSubstr("someCall: "),
                                   HasSubstr("use more stages, smaller micro-batches or")));
  for (const Error& error : {thrown_for(CUBLAS_STATUS_ALLOC_FAILED),
                             thrown_for(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)}) {
    EXPECT_EQ(error.exit_code(), 3);
    EXPECT_THAT(error.what(), StartsWith(kOutOfMemory));
  }
  const Error broken = thrown_for(cudaErrorECCUncorrectable);
  EXPECT_EQ(broken.exit_code(), 3);
  EXPECT_THAT(broken.what(), AllOf(Not(HasSubstr("out of memory")), HasSubstr("dmesg")));
  const Error driver = thrown_for(cudaErrorInsufficientDriver);
  EXPECT_EQ(driver.exit_code(), 3);
  EXPECT_THAT(driver.what(), AllOf(Not(HasSubstr("out of memory")), HasSubstr("newer one")));
  const Error other = thrown_for(cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(other.exit_code(), 3);
  EXPECT_THAT(other.what(), HasSubstr("not built for that GPU"));
  for (const Error& error :
       {thrown_for(cudaErrorIllegalAddress), thrown_for(cudaErrorInvalidValue),
        thrown_for(CUBLAS_STATUS_INVALID_VALUE), thrown_for(CUDNN_STATUS_BAD_PARAM)}) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), AllOf(Not(HasSubstr("out of memory")), HasSubstr("this is a bug"),
                                    HasSubstr("penstock info")));
  }
}

}  // namespace
}  // namespace penstock
