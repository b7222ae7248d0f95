#include "kernels/cuda/queue/launch.h"

#include <string>

#include "kernels/error.h"

namespace penstock {

void require_grid(const dim3& grid) {
  constexpr uint32_t kMostAlongX = 0x7fffffff;
  constexpr uint32_t kMostAlongOthers = 65535;
  if (grid.x <= kMostAlongX && grid.y <= kMostAlongOthers && grid.z <= kMostAlongOthers) return;
  fail_input("a kernel would need a grid of " + std::to_string(grid.x) + " x " +
             std::to_string(grid.y) + " x " + std::to_string(grid.z) +
             " blocks, and a GPU takes at most " + std::to_string(kMostAlongX) + " x " +
             std::to_string(kMostAlongOthers) + " x " + std::to_string(kMostAlongOthers) +
             ": make pipeline.micro_batch_size smaller");
}

}  // namespace penstock
