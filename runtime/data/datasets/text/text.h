// runtime/data/datasets/text/text.h -- TextDataset: windows of a long text for next-token
// prediction; its tokens are bytes, word pieces, or come from files of tokens.
//
// Fields of a sample: "tokens" I32 [context], and "labels" I32 [context], the token after each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/tokens/token_source.h"

namespace penstock {

inline constexpr int64_t kByteVocabulary = 256;  // where tokens are bytes

// The windows of the tokens [begin, end), which are this set's part of the text.
class TextDataset final : public Dataset {
 public:
  enum class Windows : uint8_t {
    Moving,  // each begins at its place plus a random offset; every window is full
    Fixed,   // end to end; every window is full, a shorter rest is left out
    Padded,  // end to end over the whole part, the last filled up with label -1
  };

  // The part must hold one window: context + 1 tokens, or 2 when padded (checked by the caller,
  // who can name the key).
  TextDataset(std::shared_ptr<const TokenSource> tokens, int64_t begin, int64_t end,
              int64_t context, Windows windows);

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
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

// The training and validation parts of data.kind = "text" or "tokens". Throws Error(Input) naming
// the file, or the key.
[[nodiscard]] Datasets open_text(const DataConfig& config, int64_t context);

}  // namespace penstock
