// runtime/data/datasets/images/synthetic.h -- SyntheticDataset: random samples of any shape instead
// of files, for measuring throughput. There is nothing to learn in them.
//
// A sample is computed from its number, so that nothing is read or kept. For classification
// (SampleShape::label_per_position is false) the input field is F32, of mean 0 and variance 1, and
// the label field is one I32, or one for each pixel. For language both fields are I32 [context],
// and each label is the token that comes next.
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
// Divides data.samples (0: 2^20) into training and validation by the share data.validation. Throws
// Error(Input) naming the key that is wrong.
[[nodiscard]] SyntheticParts synthetic_parts(const DataConfig& config);

// The sets of data.kind = "synthetic": training has the first samples of the sequence, and
// validation, where data.validation is a share, those behind them. Throws as synthetic_parts().
[[nodiscard]] Datasets open_synthetic(const DataConfig& config, const SampleShape& shape,
                                      uint64_t seed);

}  // namespace penstock
