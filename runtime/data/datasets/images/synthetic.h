// runtime/data/datasets/images/synthetic.h -- samples of any shape without I/O, for measuring
// throughput. There is nothing to learn in them: every value is noise.
//
// Classification: the input field is F32, of mean 0 and variance 1; the label field one I32.
// Language (label_per_position): both fields are I32 [context]; labels are the tokens one later.
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
  int64_t training = 0, held_out = 0;  // samples; the second 0 where no validation is asked for
};
[[nodiscard]] SyntheticParts synthetic_parts(const DataConfig& config);

// A validation share splits the samples of the sequence as it would those of a file.
[[nodiscard]] Datasets open_synthetic(const DataConfig& config, const SampleShape& shape,
                                      uint64_t seed);

}  // namespace penstock
