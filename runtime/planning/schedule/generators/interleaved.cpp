// Schedules whose ranks hold several stages each, looped, with whole backwards.
#include <algorithm>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {
namespace {

// The chunk and the micro-batch of a rank's k-th forward. A rank takes p micro-batches (p ranks)
// through its first chunk, the same p through the next one, and so on. The k-th backward has the
// same micro-batch, and chunks are counted from the last one.
struct Turn {
  int chunk;
  int micro_batch;
};

Turn turn(int k, int ranks, int chunks) {
  return {k / ranks % chunks, k / (ranks * chunks) * ranks + k % ranks};
}

}  // namespace

// The order is made for a multiple of p micro-batches (p ranks). If their number is no multiple,
// those beyond it are left out.
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
  Schedule schedule = looped(ranks, chunks, micro_batches);
  for (int r = 0; r < ranks; ++r) {
    auto& program = schedule.program[r];
    program.reserve(2 * static_cast<size_t>(chunks) * micro_batches);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int j = 0; j < micro_batches; ++j)
        program.push_back({Op::Forward, chunk * ranks + r, j});
    }
    for (int chunk = chunks - 1; chunk >= 0; --chunk) {
      for (int j = 0; j < micro_batches; ++j)
        program.push_back({Op::Backward, chunk * ranks + r, j});
    }
  }
  return schedule;
}

}  // namespace penstock
