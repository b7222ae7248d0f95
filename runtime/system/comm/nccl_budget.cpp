#include "runtime/system/comm/nccl_budget.h"

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int kShare = 8;  // edges take at most an eighth of a chip, sums another eighth
constexpr int kMostForAnEdge = 8;

int power_of_two_within(int blocks) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(blocks, 1))));
}

}  // namespace

NcclBudget nccl_budget(int processors, int edges, bool sums) {
  const int share = processors / kShare;
  NcclBudget budget;
  if (edges > 0) budget.edge = std::min(power_of_two_within(share / edges), kMostForAnEdge);
  if (sums) budget.sums = power_of_two_within(share);
  const int taken = edges * budget.edge + budget.sums;
  if (2 * taken > processors) {
    fail_input(
        "links by nccl would take " + std::to_string(taken) + " of a GPU's " +
        std::to_string(processors) + " multiprocessors for " + std::to_string(edges) +
        " ends of edges: use --link mpi-staged, fewer stages per rank, or a split with fewer "
        "skips between stages");
  }
  budget.left = processors - taken;
  return budget;
}

}  // namespace penstock
