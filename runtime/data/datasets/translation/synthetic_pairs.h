// runtime/data/datasets/translation/synthetic_pairs.h -- SyntheticPairs: random sentence pairs
// instead of files, to measure the throughput of translation networks and to test with.
//
// Lengths and tokens are random; the fields are those of parallel.h. A sample is computed from its
// number, so that nothing is read or kept.
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

// The sets of data.kind = "synthetic" for a translation network: training has the first samples of
// the sequence, and validation, where data.validation is a share, those behind them. Throws
// Error(Input) naming the key that is wrong.
[[nodiscard]] Datasets open_synthetic_pairs(const DataConfig& config, const SampleShape& shape,
                                            uint64_t seed);

}  // namespace penstock
