// runtime/planning/partition/limited.h -- balance_within(): the split of layers over stages where
// memory is limited and stages differ.
//
// A schedule makes stages unequal: one that does not recompute is faster on the same layers, and
// one that holds more micro-batches in flight needs more memory for them. The limit is that of a
// rank; several stages of one rank (chunks) share it.
#pragma once

#include <span>
#include <vector>

namespace penstock {

// The loads of each layer, first to last; all lists are equally long.
struct LayerLoads {
  std::vector<double> time;       // of one micro-batch, in every stage
  std::vector<double> recompute;  // on top of it, in a stage that recomputes
  std::vector<double> fixed;      // bytes whatever is in flight: weights, gradients, states
  std::vector<double> tape;       // bytes that a micro-batch keeps between forward and backward
  std::vector<double> input;      // bytes of the tensors that enter, of one micro-batch
};

// What the schedule demands of a stage. With layers [i, j) the stage needs
//   sum over l in [i, j) of (fixed[l] + tapes * tape[l] + inputs * input[l])
//     + stashes * input[i] + extra                                           bytes.
struct StageLoads {
  int rank = 0;
  bool recomputes = false;
  double tapes = 1;    // micro-batches whose tape is held at once
  double inputs = 0;   // micro-batches of which every layer's input is held
  double stashes = 0;  // micro-batches of which the stage's input is held
  double extra = 0;    // bytes on top
};

struct LimitedSplit {
  std::vector<int> split;  // layers per stage; the best found, even if it does not fit
  double bottleneck = 0;   // time of the slowest stage
  bool fits = false;
  // Whether it is proved that no split within the limit has a smaller bottleneck or, where `fits`
  // is false, that no split fits.
  bool proved = true;
  int fullest_rank = 0;  // the rank with the most bytes
  double fullest_bytes = 0;
};

// The split whose slowest stage is as fast as possible among those in which no rank needs more than
// `limit` bytes. If there is none, the split whose fullest rank is as empty as possible. No stage
// is ever empty. Among equals, a split near even; where all stages recompute, or none do, the split
// of balance() (partition.h) if it fits.
//
// The result is exact with one stage per rank (for differences of running sums in double) and
// always proved: the bytes of [i, j) grow with j, so all ends from the nearest to the furthest can
// be reached from i, and one sweep per stage finds every place a cut can be. Where the bytes also
// shrink with i, as they do unless inputs grow faster than the rest, the furthest end of each stage
// is nearly always enough. With several stages per rank, the shared limit couples stages far apart
// (shared_limit.cpp). First every stage may take the whole limit: if the result fits, nothing can
// be better. Else a search by prices on each rank's bytes (a Lagrangian relaxation) finds most good
// splits; `proved` says whether it was conclusive.
//
// O(64 x stages x log layers), or O(64 x stages x layers) where inputs grow fast: 10,000 layers
// over 1,024 stages take well under 1 s. The search by prices takes stages x layers x log layers a
// price, or stages x layers^2 where inputs grow fast. It ends after a second or two with the best
// split so far, and is left out where one price would take too long. Throws std::invalid_argument
// for fewer than 1 stage, more stages than layers, lists of unequal lengths, or numbers that are
// negative or not finite (`limit` may be infinite).
[[nodiscard]] LimitedSplit balance_within(const LayerLoads& layers,
                                          std::span<const StageLoads> stages, double limit);

}  // namespace penstock
