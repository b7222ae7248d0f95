// tests/host_cuda/nccl_trouble.h -- what can go wrong with NCCL, and does when a test wants it.
//
// PENSTOCK_HOST_NCCL=silent:20  after 20 launches of this process its messages neither leave nor
//                               come, and nobody says why: a rank that has stopped
//                   =error:20   likewise, and the communicator of launch 21 says that the other is
//                               gone, to whoever asks it (ncclCommGetAsyncError)
#pragma once

#include <cstdint>

namespace penstock::host_cuda {

enum class NcclTrouble : uint8_t { None, Silent, Error };
// The trouble that the next launch has; counts that launch.
[[nodiscard]] NcclTrouble trouble_of_next_launch();

// Kernels that have begun and have not ended hold that many multiprocessors of a device, where they
// can keep everything else from running. Stops the program when there are not so many.
void hold_processors(int device, int blocks);
void free_processors(int device, int blocks);

}  // namespace penstock::host_cuda
