// runtime/planning/partition/limited.h -- balance_within(): divides the layers of a network over
// pipeline stages so that the slowest stage is as fast as possible and no rank needs more memory
// than its device has.
//
// Costs per layer and demands per stage go in, the number of layers of each stage comes out. Unlike
// balance() (partition.h) it knows that the schedule makes stages unequal: a stage that does not
// recompute is faster on the same layers, and a stage that holds more micro-batches in flight needs
// more memory for them. The memory limit is that of a rank; where a rank holds several stages
// (chunks), they share it.
#pragma once

#include <span>
#include <vector>

namespace penstock {

// The costs of each layer, first to last, on one kind of device; all lists have one entry per
// layer. Times are in one unit of the caller's choice.
struct LayerLoads {
  std::vector<double> time;       // of forward and backward of one micro-batch
  std::vector<double> recompute;  // what a stage that recomputes takes on top of `time`
  std::vector<double> fixed;      // bytes for the whole run: weights, gradients, optimizer states
  std::vector<double> tape;       // bytes that one micro-batch keeps from forward to backward
  std::vector<double> input;      // bytes of the tensors that enter, for one micro-batch
};

// What the schedule demands of one stage. A stage with the layers [i, j) needs
//   sum over l in [i, j) of (fixed[l] + tapes * tape[l] + inputs * input[l])
//     + stashes * input[i] + extra
// bytes, each of which counts `weight` times.
struct StageLoads {
  int rank = 0;             // that holds it; its stages share the limit
  int kind = 0;             // of the rank's device: which of the lists of costs are its own
  bool recomputes = false;  // whether it runs forwards again before backwards
  // How much its time counts: above 1 on a rank that holds more stages than others, so that none
  // of them takes longer than its share of the rank's time. Above 0.
  double pace = 1;
  double tapes = 1;    // for how many micro-batches at once it keeps all tapes
  double inputs = 0;   // for how many micro-batches at once it keeps every layer's input
  double stashes = 0;  // for how many micro-batches at once it keeps its own input
  double extra = 0;    // bytes on top
  // How much a byte counts towards the limit: above 1 on a rank that has less memory than the
  // limit says, 0 where the memory of the rank has no limit.
  double weight = 1;
};

struct LimitedSplit {
  std::vector<int> split;  // layers per stage; the best found, even if it does not fit
  double bottleneck = 0;   // time of the slowest stage, as it counts
  bool fits = false;       // whether every rank keeps the limit
  // Whether the answer is certain: that no split within the limit has a smaller bottleneck or,
  // where `fits` is false, that no split fits.
  bool proved = true;
  int fullest_rank = 0;      // the rank that needs the most bytes, as they count
  double fullest_bytes = 0;  // what it needs, as it counts
};

// Returns the split with the smallest bottleneck among those in which no rank needs more than
// `limit` bytes (may be infinite); if there is none, the split whose fullest rank needs the fewest
// bytes. `kinds` has the costs on each kind of device (StageLoads::kind). Every stage has at least
// one layer. Among equally good splits it takes one that is nearly even; where stages are of one
// kind and pace and all recompute, or none do, it takes the split of balance() if that fits. Throws
// std::invalid_argument for fewer than 1 stage, more stages than layers, lists of unequal lengths,
// a kind that is not there, or numbers that are negative or not finite.
//
// With one stage per rank the result is exact, but for rounding, and always proved. The bytes of
// [i, j) grow with j, so a stage that begins at i can end anywhere up to a furthest layer, and one
// sweep per stage finds every possible cut. With several stages per rank it first gives every stage
// the whole limit. If that split fits, none is better. Otherwise it searches with a price on the
// bytes of each rank (a Lagrangian relaxation, shared_limit.cpp), and `proved` says whether the
// search was conclusive.
//
// The exact part takes O(64 x stages x log layers), or O(64 x stages x layers) where inputs grow
// from layer to layer faster than the other bytes: 10,000 layers over 1,024 stages take well under
// 1 s. The search ends after a second or two with the best split found so far; it is left out where
// a single price would take too long.
[[nodiscard]] LimitedSplit balance_within(std::span<const LayerLoads> kinds,
                                          std::span<const StageLoads> stages, double limit);
// The same where all stages are on kind 0.
[[nodiscard]] inline LimitedSplit balance_within(const LayerLoads& layers,
                                                 std::span<const StageLoads> stages, double limit) {
  return balance_within(std::span(&layers, 1), stages, limit);
}

}  // namespace penstock
