// Schedules whose ranks hold several stages each, looped, with whole backwards.
#include <algorithm>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {
namespace {

// This is the chunk and the micro-batch of a rank's k-th forward. With p ranks, a rank takes p
// micro-batches through its first chunk, the same p through its next chunk, and so on. The k-th
// backward has the same micro-batch, but its chunk is counted from the last one.
struct Turn {
  int chunk;
  int micro_batch;
};

Turn turn(int k, int ranks, int chunks) {
  return {k / ranks % chunks, k / (ranks * chunks) * ranks + k % ranks};
}

}  // namespace

// Makes the order for a multiple of p micro-batches, for p ranks. If `micro_batches` is no multiple
// of p, the order is made for the next multiple, and the ops of the missing ones are left out.
Schedule interleaved(int ranks, int chunks, int micro_batches) {
  Schedule schedule = looped(ranks, chunks, micro_batches);
  const int rounds = (micro_batches + ranks - 1) / ranks;
  const int total = rounds * ranks * chunks;
  for (int r = 0; r < ranks; ++r) {
    auto& program = schedule.program[r];
    program.reserve(2 * static_cast<size_t>(chunks) * micro_batches);
    const auto emit = [&](Op op, int chunk, int micro_batch) {
      if (micro_batch < micro_batches) program.push_back({op, chunk * ranks + r, micro_batch});
    };
    const int warm_up = std::min(total, 2 * (ranks - 1 - r) + (chunks - 1) * ranks);
    for (int k = 0; k < warm_up + total; ++k) {
      if (k < total) {
        const auto [chunk, micro_batch] = turn(k, ranks, chunks);
        emit(Op::Forward, chunk, micro_batch);
      }
      if (k >= warm_up) {
        const auto [chunk, micro_batch] = turn(k - warm_up, ranks, chunks);
        emit(Op::Backward, chunks - 1 - chunk, micro_batch);
      }
    }
  }
  return schedule;
}

Schedule looped_bfs(int ranks, int chunks, int micro_batches) {
  return looped_bfs(looped(ranks, chunks, micro_batches).rank_of_stage, micro_batches);
}

Schedule looped_bfs(const std::vector<int>& rank_of_stage, int micro_batches) {
  Schedule schedule = placed(rank_of_stage, micro_batches);
  const auto add = [&](Op op, int stage) {
    auto& program = schedule.program[rank_of_stage[stage]];
    for (int j = 0; j < micro_batches; ++j) program.push_back({op, stage, j});
  };
  for (int stage = 0; stage < schedule.stages; ++stage) add(Op::Forward, stage);
  for (int stage = schedule.stages; stage-- > 0;) add(Op::Backward, stage);
  return schedule;
}

}  // namespace penstock
