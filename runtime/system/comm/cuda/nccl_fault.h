// runtime/system/comm/cuda/nccl_fault.h -- which statuses of NCCL mean that memory ran out, which
// that something is missing, which that there is a bug, and which that another rank is gone: the
// four values of Fault (kernels/fault.h).
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string_view>

#include "kernels/cuda/cuda_fault.h"

namespace penstock {

// The fault of a status that is not success. `last_words` are ncclGetLastError()'s, `noted` is the
// error that CUDA has noted besides: NCCL has one status for every failure of CUDA and one for
// every failure of the system, and only its words say that memory ran out.
[[nodiscard]] inline Fault fault_of(ncclResult_t status, std::string_view last_words,
                                    cudaError_t noted) {
  if (last_words.find("out of memory") != std::string_view::npos) return Fault::Memory;
  switch (status) {
    case ncclRemoteError:
      return Fault::Peer;
    case ncclSystemError:  // sockets, shared memory, file descriptors
      return Fault::Missing;
    case ncclUnhandledCudaError:
      return fault_beside(Fault::Missing, noted);
    default:
      return Fault::Bug;
  }
}

}  // namespace penstock
