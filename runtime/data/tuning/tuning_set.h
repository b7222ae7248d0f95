// runtime/data/tuning/tuning_set.h -- data.kind = "jsonl": samples of texts, prompts with
// completions or conversations, several in a row or one.
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

#include "runtime/data/dataset.h"
#include "runtime/data/text/packed_tokens.h"
#include "runtime/data/tuning/packing.h"
#include "runtime/data/tuning/tuning_line.h"

namespace penstock {

// All samples of a file, cut to the context.
struct TuningTexts {
  PackedTokens tokens;                // each twice its id, and 1 where it counts
  std::vector<int64_t> begins = {0};  // of samples, and the end of the last
  std::vector<int32_t> lengths = {};  // positions that each takes in a row
  int64_t lines = 0;
  int64_t cut = 0;        // samples that were longer than the context
  int64_t left_out = 0;   // too long (data.too_long), or nothing of them counts
  int64_t only_last = 0;  // conversations of which only the last answer counts
};

class TuningSet final : public Dataset {
 public:
  TuningSet(std::shared_ptr<const TuningTexts> texts, PackedRows rows, int64_t context,
            bool packed);

  [[nodiscard]] int64_t size() const override { return rows_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  // At most: the loss counts the labels of the mini-batch that are there.
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::shared_ptr<const TuningTexts> texts_;
  PackedRows rows_;
  int64_t context_;
  std::vector<Field> fields_;
};

// Throws Error(Input) naming the key or what is not supported, Error(Data) naming file and line.
[[nodiscard]] Datasets open_tuning(const DataConfig& config, int64_t context, uint64_t seed);

}  // namespace penstock
