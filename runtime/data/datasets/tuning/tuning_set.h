// runtime/data/datasets/tuning/tuning_set.h -- TuningSet: the data set of data.kind = "jsonl", for
// fine-tuning on texts, prompts with completions and conversations; a row, which is one sample of
// the Dataset, holds one of them or, packed, several.
//
// Fields of a row:
//   tokens I32 [context]   the tokens of its samples, one sample behind the other; then 0
//   labels I32 [context]   for each position the next token, if the loss counts it, else -1
//   starts I32 [context]   if rows are packed: for each position that at which its sample starts;
//                          position i behind the last sample has i
// A sample of n tokens takes n - 1 positions, since behind its last token nothing is predicted.
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
  // `rows` says which samples of `texts` each row holds, of at most `context` positions together.
  // Without `packed` there is no field "starts", and each row has one sample.
  TuningSet(std::shared_ptr<const TuningTexts> texts, PackedRows rows, int64_t context,
            bool packed);

  [[nodiscard]] int64_t size() const override { return rows_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  // The most that a row can have; the loss averages over the labels that a mini-batch really has.
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  // Overwrites the fields of row `index`: out[0] is the memory for tokens, out[1] for labels,
  // out[2] for starts; null, or left out at the end: not wanted. `random` is not used. Throws
  // Error(Data) as Dataset::read() does.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::shared_ptr<const TuningTexts> texts_;
  PackedRows rows_;
  int64_t context_;
  std::vector<Field> fields_;
};

// How many of `samples` samples are for training. If data.validation is a share such as "0.1", the
// last tenth is for validation, and training has those before it; throws Error(Input) if either of
// the two parts would be empty. If data.validation is a path or empty, returns `samples`.
[[nodiscard]] int64_t training_end(const DataConfig& config, int64_t samples);

// Opens the training and validation sets of data.kind = "jsonl", with rows of `context` positions;
// `seed` decides which samples share a row. Throws Error(Input) naming the key or what is not
// supported, Error(Data) naming file and line.
[[nodiscard]] Datasets open_tuning(const DataConfig& config, int64_t context, uint64_t seed);

}  // namespace penstock
