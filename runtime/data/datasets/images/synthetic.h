// runtime/data/datasets/images/synthetic.h -- samples of any shape without I/O, for measuring
// throughput. There is nothing to learn in them: every value is noise.
//
// Classification: the input field is F32, of mean 0 and variance 1; the label field is one I32.
// Language (label_per_position): both fields are I32 [context]; each label is the next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/datasets/dataset.h"

namespace penstock {

class SyntheticDataset final : public Dataset {
 public:
  // Samples [first, first + size) of the endless sequence that `seed` and `shape` define.
  SyntheticDataset(const SampleShape& shape, uint64_t seed, int64_t first, int64_t size);

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return fields_[1].shape.elements(); }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::vector<Field> fields_;  // input, label
  int64_t classes_;
  uint64_t seed_;
  int64_t first_;
  int64_t size_;
};

struct SyntheticParts {
  int64_t training = 0, held_out = 0;  // samples; held_out 0: data.validation is empty
};
// Splits data.samples by the share data.validation. Throws Error(Input) naming the key that is
// wrong.
[[nodiscard]] SyntheticParts synthetic_parts(const DataConfig& config);

// The training set, and a validation set of the samples behind it where data.validation is a share.
[[nodiscard]] Datasets open_synthetic(const DataConfig& config, const SampleShape& shape,
                                      uint64_t seed);

}  // namespace penstock
