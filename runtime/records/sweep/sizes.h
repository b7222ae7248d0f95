// runtime/records/sweep/sizes.h -- computes the sizes (stages, replicas, micro-batches) of the
// points of a sweep: a user lists some sizes and numbers of ranks in a grid, and the others follow
// from the rule of scaling.
//
// Example: the grid lists stages 2 and 4, and ranks 4 and 8; strong scaling with a mini-batch of 32
// and micro-batches of 1. combinations() gives the four pairs. For stages 2 on 8 ranks fit_ranks()
// sets 4 replicas, then fit_mini_batch() sets 8 micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// All ways to choose one element from each of several lists. `sizes` are the lengths of the lists;
// each result has one index per list, and the last index varies fastest. For no lists, one empty
// result.
[[nodiscard]] std::vector<std::vector<size_t>> combinations(const std::vector<size_t>& sizes);

enum class Scaling : uint8_t {
  Strong,   // the mini-batch is the same at every number of ranks
  Weak,     // the mini-batch grows in proportion to the number of ranks
  AsGiven,  // the mini-batch follows from replicas and micro-batches as they are given
};
// "strong", "weak", "as-given"
[[nodiscard]] const char* word_of(Scaling scaling);

// The sizes of one point.
struct PointSizes {
  int stages = 1;                // K
  int replicas = 1;              // D: whole pipelines side by side
  int chunks = 1;                // stages per rank
  int micro_batches = 1;         // M, of each replica
  int64_t micro_batch_size = 1;  // b, samples

  // The number of ranks; `chunks` must divide `stages`.
  [[nodiscard]] int ranks() const { return stages / chunks * replicas; }
  // The samples of a step.
  [[nodiscard]] int64_t mini_batch() const {
    return int64_t{replicas} * micro_batches * micro_batch_size;
  }
  bool operator==(const PointSizes&) const = default;
};

// The rules by which the missing sizes are computed.
struct SizeRules {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;  // samples of a step; for weak scaling: of a step per rank
  // Whether the grid lists the size of this name. Sizes that it lists are not changed.
  bool stages = false, replicas = false, micro_batches = false, micro_batch_size = false;
};

// Changes sizes.replicas or, if the grid lists replicas and not stages, sizes.stages, so that
// `sizes` has `ranks` ranks. Returns false if that is impossible.
[[nodiscard]] bool fit_ranks(int ranks, const SizeRules& rules, PointSizes& sizes);

// Changes sizes.micro_batches or, if the grid lists those, sizes.micro_batch_size, so that a step
// has the samples that `rules` ask for. Call fit_ranks() before. Returns why that is impossible, in
// words; empty: it is done.
[[nodiscard]] std::string fit_mini_batch(const SizeRules& rules, PointSizes& sizes);

}  // namespace penstock
