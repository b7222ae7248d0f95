// runtime/system/comm/nccl_budget.h -- how much of a GPU the kernels of NCCL may occupy. Pure.
//
// A kernel that has been launched and waits for another rank holds its multiprocessors all the
// while, and they are lost for computing: with eight blocks for each edge, as many edges as a stage
// with skips or several chunks has fill the whole chip with kernels that wait. So all edges of a
// rank share one part of the chip, and the sums over replicas have another. NCCL's documentation
// says that maxCTAs limits both; we have not seen that on a GPU.
#pragma once

namespace penstock {

// Blocks, each of which takes a multiprocessor for itself.
struct NcclBudget {
  int edge = 0;  // for each end of an edge
  int sums = 0;
  int left = 0;  // for computing, while all of them wait
};

// The budget of a rank that has `edges` ends of edges, and a group of sums or not, on a GPU of that
// many multiprocessors (`processors`). An eighth of the chip is for all edges together, at least
// one block and at most 8 for each, a power of two, as NCCL cuts its channels; another eighth is
// for sums. Both ends of an edge must ask for the same: `edges` is to be the count of the rank that
// has most. Throws Error(Input) where more than half would be taken.
[[nodiscard]] NcclBudget nccl_budget(int processors, int edges, bool sums);

}  // namespace penstock
