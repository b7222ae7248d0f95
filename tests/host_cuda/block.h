// tests/host_cuda/block.h -- runs the grid of one CUDA kernel on the CPU: block after block, the
// threads of a block on fibers (fiber.h) that change only where a thread waits for others. Threads
// run in an order that changes from block to block, so that a missing barrier shows.
#pragma once

#include <vector_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::host_cuda {

// The place in the kernel's source where a thread waits.
struct Site {
  const char* file;
  int line;
};

// Bytes of shared memory that a block may have.
inline constexpr size_t kMostShared = 227 << 10;

struct Grid {
  dim3 blocks, threads;
  size_t shared_bytes = 0;              // dynamic shared memory
  void (*body)(const void*) = nullptr;  // called once for each thread
  const void* argument = nullptr;       // what `body` is called with
};

// Runs every block of the grid to the end of its last thread. Stops the program where the threads
// of a block wait for what cannot come.
void run_grid(const Grid& grid);

// Functions for the threads of a block ----------------------------------------------------------

[[nodiscard]] std::byte* dynamic_shared_memory();

// Returns when every thread of the block that has not ended has come to the same place.
void block_barrier(Site site);
// A block_barrier() that returns the number of threads which came with `value` true.
int block_count(bool value, Site site);

// What the lanes of a warp brought to their last meeting.
struct Meeting {
  uint32_t present = 0;            // the lanes that came, one bit each
  std::array<uint64_t, 32> value;  // by lane
};
// Brings `value` and returns when every lane in `mask` that has not ended has come to the same
// place. `what` names the function in messages.
const Meeting& meet(uint32_t mask, uint64_t value, const char* what, Site site);
[[nodiscard]] int lane();  // of the calling thread

}  // namespace penstock::host_cuda
