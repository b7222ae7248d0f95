// runtime/data/datasets/tuning/tuning_set.h -- TuningSet: data.kind = "jsonl", texts, prompts with
// completions and conversations, one or several in each row.
//
// Fields of a row: "tokens" I32 [context]; "labels" I32 [context], the token after each where it
// counts, else -1; and where rows are packed "starts" I32 [context], the first position of the
// sample that a position belongs to. Behind the last sample a row has tokens of 0, labels of -1,
// and starts[i] = i. A sample of n tokens takes n - 1 positions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/tuning/packing.h"
#include "runtime/data/datasets/tuning/tuning_texts.h"

namespace penstock {

class TuningSet final : public Dataset {
 public:
  TuningSet(std::shared_ptr<const TuningTexts> texts, PackedRows rows, int64_t context,
            bool packed);

  [[nodiscard]] int64_t size() const override { return rows_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  // The most that a row can have. The loss averages over the labels that a mini-batch really has.
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::shared_ptr<const TuningTexts> texts_;
  PackedRows rows_;
  int64_t context_;
  std::vector<Field> fields_;
};

// Where training samples end and validation begins in [0, samples): by data.validation where that
// is a share, else `samples`. Throws Error(Input) where either part would be empty.
[[nodiscard]] int64_t training_end(const DataConfig& config, int64_t samples);

// The sets of data.kind = "jsonl". Throws Error(Input) naming the key or what is not supported,
// Error(Data) naming file and line.
[[nodiscard]] Datasets open_tuning(const DataConfig& config, int64_t context, uint64_t seed);

}  // namespace penstock
