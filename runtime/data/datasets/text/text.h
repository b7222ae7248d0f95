// runtime/data/datasets/text/text.h -- TextDataset: a long row of tokens cut into windows of
// model.context tokens, each a sample for next-token prediction.
//
// Fields of a sample: "tokens" I32 [context], and "labels" I32 [context], for each token the one
// that follows it. Tokens are bytes, word pieces, or come from files of token ids; open_text()
// opens them as the [data] section says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/tokens/token_source.h"

namespace penstock {

inline constexpr int64_t kByteVocabulary = 256;  // where tokens are bytes

// The windows of the tokens [begin, end) of the row, this set's part of it.
class TextDataset final : public Dataset {
 public:
  enum class Windows : uint8_t {
    Moving,  // for training: as Fixed, but each is moved on by a random offset below context
    Fixed,   // end to end; all are full, and a shorter rest at the end is left out
    Padded,  // for evaluation: end to end, the last one filled up with tokens 0 and labels -1
  };

  // [begin, end) must have at least one window: context + 1 tokens or, when padded, 2. The caller
  // has checked it.
  TextDataset(std::shared_ptr<const TokenSource> tokens, int64_t begin, int64_t end,
              int64_t context, Windows windows);

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  // Overwrites the fields of window `index`: out[0] is the memory for tokens, out[1] for labels
  // (null: not wanted). `random` draws the offset of a Moving window, and is not used otherwise.
  // Throws Error(Data) naming the file where it is damaged.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  std::shared_ptr<const TokenSource> tokens_;
  int64_t begin_;
  int64_t end_;
  int64_t context_;
  Windows windows_;
  int64_t size_;
  std::vector<Field> fields_;
};

// Whether opening looks at the ids in files. One rank does it for all: at every token of the
// validation set, and at the first 2^30 of the training set. The others are met when read.
enum class IdLooks : uint8_t { All, None };

// Opens the training and validation sets of data.kind = "text" or "tokens" with windows of
// `context` tokens. `vocabulary`: of the network; 0: as large as the data say. Throws Error(Input)
// naming the file or the key (no such file, too few tokens for one window), Error(Data) for a
// damaged file and for an id that the vocabulary does not have, which reading throws, too.
[[nodiscard]] Datasets open_text(const DataConfig& config, int64_t context, int64_t vocabulary = 0,
                                 IdLooks looks = IdLooks::All);

}  // namespace penstock
