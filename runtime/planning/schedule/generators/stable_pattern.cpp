// V-half and V-min (Qi et al. 2024, arXiv:2405.15362): a pattern of six instructions on each rank,
// repeated for every micro-batch. The less time lies between a forward and its input half, the
// fewer stashes are held.
#include <algorithm>
#include <array>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {
namespace {

// A timetable in ticks. A forward and each half of a backward take one tick, so a rank, which has
// two stages, needs six of them for a micro-batch: that is the period. Forwards go down the V to
// the last rank and up again to rank 0, then input halves do.
constexpr int kPeriod = 6;
struct Pattern {
  int down, up;            // ticks from one rank to the next, on the two legs of the V
  int wait_f, wait_i = 0;  // ticks that forwards and input halves wait on the last rank
};

// One instruction of a rank for micro-batch 0; that for micro-batch j is j periods later.
struct Beat {
  Op op;
  int stage, tick;
};

bool share_a_tick(const Beat& a, const Beat& b) {
  return a.tick % kPeriod == b.tick % kPeriod;
}

// Returns the beats of a rank. The waits of the pattern must be such that no two of the first four
// share a tick of the period; each weight half takes the next tick that is free.
std::array<Beat, kPeriod> beats(const Pattern& pattern, int ranks, int rank) {
  const int first = rank;
  const int second = 2 * ranks - 1 - rank;
  const int behind = ranks - 1 - rank;
  const int bottom = pattern.down * (ranks - 1) + 1 + pattern.wait_f;
  const int loss = bottom + pattern.up * (ranks - 1) + 1;
  const int back = loss + pattern.down * (ranks - 1) + 1 + pattern.wait_i;
  std::array<Beat, kPeriod> all = {{
      {Op::Forward, first, pattern.down * rank},
      {Op::Forward, second, bottom + pattern.up * behind},
      {Op::BackwardInput, second, loss + pattern.down * rank},
      {Op::BackwardInput, first, back + pattern.up * behind},
      {Op::BackwardWeight, second, 0},
      {Op::BackwardWeight, first, 0},
  }};
  for (size_t weight = 4; weight < all.size(); ++weight) {
    Beat& beat = all[weight];
    beat.tick = all[weight - 2].tick;
    do {
      ++beat.tick;
    } while (std::any_of(all.begin(), all.begin() + static_cast<int>(weight),
                         [&](const Beat& other) { return share_a_tick(beat, other); }));
  }
  return all;
}

// Every instruction stands in the timetable after all that it needs, so its order runs for any
// number of micro-batches and any times.
Schedule repeated(const Pattern& pattern, int ranks, int micro_batches) {
  Schedule schedule = folded(ranks, micro_batches);
  for (int r = 0; r < ranks; ++r) {
    const auto pass = beats(pattern, ranks, r);
    auto& program = schedule.program[r];
    const size_t all = pass.size() * static_cast<size_t>(micro_batches);
    program.reserve(all);
    for (int tick = 0; program.size() < all; ++tick) {
      for (const Beat& beat : pass) {
        const int since = tick - beat.tick;
        if (since < 0 || since % kPeriod != 0 || since / kPeriod >= micro_batches) continue;
        program.push_back({beat.op, beat.stage, since / kPeriod});
      }
    }
  }
  return schedule;
}

}  // namespace

Schedule v_half(int ranks, int micro_batches) {
  const bool even = ranks % 2 == 0;
  return repeated({.down = 2, .up = 1, .wait_f = even ? 4 : 1, .wait_i = even ? 0 : 3}, ranks,
                  micro_batches);
}

Schedule v_min(int ranks, int micro_batches) {
  const int wait = ranks % 3 == 0 ? 2 : 0;
  return repeated({.down = 1, .up = 1, .wait_f = wait, .wait_i = wait}, ranks, micro_batches);
}

}  // namespace penstock
