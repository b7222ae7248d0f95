// runtime/records/sweep/sizes.h -- PointSizes: the sizes of the points of a sweep: every
// combination of what its grid lists, and the sizes that follow from it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Every combination of indices into lists of those sizes; the last index varies fastest. For no
// lists, one empty combination.
[[nodiscard]] std::vector<std::vector<size_t>> combinations(const std::vector<size_t>& sizes);

enum class Scaling : uint8_t {
  Strong,   // the mini-batch is the same at every number of ranks
  Weak,     // the mini-batch grows with the number of ranks
  AsGiven,  // the mini-batch is what replicas and micro-batches make it
};
// "strong", "weak", "as-given"
[[nodiscard]] const char* word_of(Scaling scaling);

struct PointSizes {
  int stages = 1;         // K
  int replicas = 1;       // D
  int chunks = 1;         // stages per rank
  int micro_batches = 1;  // M, of each replica
  int64_t micro_batch_size = 1;

  // The number of ranks, where the chunks divide the stages.
  [[nodiscard]] int ranks() const { return stages / chunks * replicas; }
  // The samples of a step.
  [[nodiscard]] int64_t mini_batch() const {
    return int64_t{replicas} * micro_batches * micro_batch_size;
  }
  bool operator==(const PointSizes&) const = default;
};

struct SizeRules {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;  // samples of a step; weak scaling: samples of a step per rank
  // Whether the grid lists the size of this name, which then stays as it is.
  bool stages = false, replicas = false, micro_batches = false, micro_batch_size = false;
};

// Sets the replicas, or the stages where the grid lists replicas alone, so that `sizes` has that
// number of ranks. False where that is impossible.
[[nodiscard]] bool fit_ranks(int ranks, const SizeRules& rules, PointSizes& sizes);

// Sets the number of micro-batches, or their size where the grid lists the number, so that a step
// takes the samples that the rules ask for. Returns why that is impossible; empty: it is done.
[[nodiscard]] std::string fit_mini_batch(const SizeRules& rules, PointSizes& sizes);

}  // namespace penstock
