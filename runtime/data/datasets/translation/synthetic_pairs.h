// runtime/data/datasets/translation/synthetic_pairs.h -- SyntheticPairs: random sentence pairs
// instead of files, to measure the throughput of translation networks and to test with.
//
// A sentence has 1 to t - 1 tokens, t = model.context, each drawn from the whole vocabulary;
// lengths and tokens are random. Fields of a sample, all I32, as of a ParallelDataset:
//   source_tokens [t]   a sentence, the token 3 (end); then 0
//   source_lengths []   how many of the source tokens are no padding
//   target_tokens [t]   the token 2 (begin), another sentence; then 0
//   labels [t]          that sentence, the token 3; then -1, which no loss counts
// A sample is computed from `seed` and its number alone, so nothing is read or kept.
#pragma once

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/synthetic.h"

namespace penstock {

class SyntheticPairs final : public Dataset {
 public:
  // Samples [first, first + size) of the endless sequence that `seed`, shape.context (t) and
  // shape.classes (the size of the vocabulary) define. The caller has checked that context >= 3 and
  // classes >= 4.
  SyntheticPairs(const SampleShape& shape, uint64_t seed, int64_t first, int64_t size);

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  // Reads as Dataset::read() says. `random` is not used, since the sample's number decides all of
  // it.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::vector<Field> fields_;
  int64_t context_, vocabulary_;
  uint64_t seed_;
  int64_t first_, size_;
};

// Opens the sets of data.kind = "synthetic" for a translation network: training has the first
// samples of the sequence, and validation, where data.validation is a share such as "0.1", those
// behind them; else it is null. Throws Error(Input) naming the key that is wrong, also for a
// context below 3 or fewer than 4 classes.
[[nodiscard]] Datasets open_synthetic_pairs(const DataConfig& config, const SampleShape& shape,
                                            uint64_t seed);

}  // namespace penstock
