// Interleaved 1F1B (Narayanan et al. 2021, arXiv:2104.04473, section 2.2).
#include <algorithm>
#include <stdexcept>

#include "runtime/schedule/generators.h"
#include "runtime/schedule/placement.h"

namespace penstock {
namespace {

// The k-th forward, or backward, of every rank. A rank takes p micro-batches through its first
// chunk, the same p through the next one, and so on; backwards start from the last chunk.
struct Turn {
  int chunk;
  int micro_batch;
};

Turn turn(int k, int ranks, int chunks) {
  return {k / ranks % chunks, k / (ranks * chunks) * ranks + k % ranks};
}

}  // namespace

Schedule interleaved(int ranks, int chunks, int micro_batches) {
  Schedule schedule = looped(ranks, chunks, micro_batches);
  if (micro_batches % ranks != 0) {
    const int below = micro_batches / ranks * ranks;
    const std::string lower = below > 0 ? std::to_string(below) + " or " : "";
    throw std::invalid_argument("interleaved-1f1b on " + std::to_string(ranks) +
                                " ranks needs a multiple of " + std::to_string(ranks) +
                                " micro-batches, not " + std::to_string(micro_batches) + "; use " +
                                lower + std::to_string(below + ranks));
  }
  const int total = micro_batches * chunks;
  for (int r = 0; r < ranks; ++r) {
    auto& program = schedule.program[r];
    const auto forward = [&](int k) {
      const auto [chunk, micro_batch] = turn(k, ranks, chunks);
      program.push_back({Op::Forward, chunk * ranks + r, micro_batch});
    };
    const auto backward = [&](int k) {
      const auto [chunk, micro_batch] = turn(k, ranks, chunks);
      program.push_back({Op::Backward, (chunks - 1 - chunk) * ranks + r, micro_batch});
    };
    const int warm_up = std::min(total, 2 * (ranks - 1 - r) + (chunks - 1) * ranks);
    for (int k = 0; k < warm_up; ++k) forward(k);
    for (int k = 0; k < total; ++k) {
      if (warm_up + k < total) forward(warm_up + k);
      backward(k);
    }
  }
  return schedule;
}

}  // namespace penstock
