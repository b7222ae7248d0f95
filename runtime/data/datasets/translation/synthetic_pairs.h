// runtime/data/datasets/translation/synthetic_pairs.h -- sentence pairs of random lengths and
// tokens, without I/O: to measure throughput and to test with. Fields as of kind "parallel".
#pragma once

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/synthetic.h"

namespace penstock {

class SyntheticPairs final : public Dataset {
 public:
  // Samples [first, first + size) of the endless sequence that `seed` and `shape` define; `shape`
  // has context >= 3 and classes (the vocabulary) >= 4.
  SyntheticPairs(const SampleShape& shape, uint64_t seed, int64_t first, int64_t size);

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::vector<Field> fields_;
  int64_t context_, vocabulary_;
  uint64_t seed_;
  int64_t first_, size_;
};

// The training set, and a validation set of the samples behind it where data.validation is a share.
[[nodiscard]] Datasets open_synthetic_pairs(const DataConfig& config, const SampleShape& shape,
                                            uint64_t seed);

}  // namespace penstock
