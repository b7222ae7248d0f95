// runtime/records/sweep/sizes.h -- the sizes of the points of a sweep: every combination of what
// its grid lists, and what follows from the rest. Pure.
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
  Weak,     // it grows with them
  AsGiven,  // it is what stages, replicas and micro-batches make of it
};
// "strong", "weak", "as-given"
[[nodiscard]] const char* word_of(Scaling scaling);

struct PointSizes {
  int stages = 1;         // K
  int replicas = 1;       // D
  int chunks = 1;         // stages per rank
  int micro_batches = 1;  // M, of each replica
  int64_t micro_batch_size = 1;

  // The number of ranks, if the chunks divide the stages.
  [[nodiscard]] int ranks() const { return stages / chunks * replicas; }
  // The samples of a step.
  [[nodiscard]] int64_t mini_batch() const {
    return int64_t{replicas} * micro_batches * micro_batch_size;
  }
  bool operator==(const PointSizes&) const = default;
};

struct SizeRules {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;  // samples: of a step; with weak scaling, of one rank's part of it
  // Whether the grid lists each of them, so that it stays as it is.
  bool stages = false, replicas = false, micro_batches = false, micro_batch_size = false;
};

// Fits `sizes` to a number of ranks by its replicas, or by its stages where the grid lists only
// replicas. False where that is impossible.
[[nodiscard]] bool fit_ranks(int ranks, const SizeRules& rules, PointSizes& sizes);

// Settles micro-batches, or their size where the grid lists how many, so that a step takes the
// samples that the rules ask for. Returns why there is no way, empty when all is well.
[[nodiscard]] std::string fit_mini_batch(const SizeRules& rules, PointSizes& sizes);

}  // namespace penstock
