// tests/host_cuda/nccl_trouble.h -- makes the emulated NCCL fail where a test wants it, and checks
// that its kernels leave room for others.
//
// PENSTOCK_HOST_NCCL=silent:20  after 20 launches of this process its messages neither leave nor
//                               come, and no error is reported, as with a rank that has stopped
//                   =error:20   after 20 launches its messages neither leave nor come, and
//                               ncclCommGetAsyncError() on the communicator of launch 21 says that
//                               the other rank is gone
#pragma once

#include <cstdint>

namespace penstock::host_cuda {

enum class NcclTrouble : uint8_t { None, Silent, Error };
// The trouble of a launch that is about to happen; counts the launch.
[[nodiscard]] NcclTrouble trouble_of_next_launch();

// Count the multiprocessors of a device that waiting kernels of NCCL hold: `blocks` more or fewer.
// hold_processors() stops the program when they are more than the device has, since nothing else
// could run then.
void hold_processors(int device, int blocks);
void free_processors(int device, int blocks);

}  // namespace penstock::host_cuda
