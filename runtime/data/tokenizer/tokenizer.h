// runtime/data/tokenizer/tokenizer.h -- Tokenizer: between a text and what data.kind = "text" makes
// of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config.h"

namespace penstock {

// Tokens that are no text; -1 where a vocabulary has none.
struct SpecialIds {
  int32_t begin = -1, end = -1, padding = -1;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  [[nodiscard]] virtual int64_t size() const = 0;  // ids are below
  // Throws Error(Input) naming what is not in the vocabulary.
  [[nodiscard]] virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  [[nodiscard]] virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // What a text begins after: the end of a line, or what comes closest.
  [[nodiscard]] virtual int32_t start() const = 0;
  [[nodiscard]] virtual SpecialIds special() const { return {}; }
  // What a user may want to know of it, in one line; empty: nothing.
  [[nodiscard]] virtual std::string note() const { return {}; }
  // A text from its beginning to its end, with what the vocabulary's maker puts around it.
  [[nodiscard]] virtual std::vector<int32_t> encode_whole(std::string_view text) const {
    return encode(text);
  }
  // The text as it is shown to people: special tokens leave no trace.
  [[nodiscard]] virtual std::string decode_shown(std::span<const int32_t> ids) const {
    return decode(ids);
  }
};

// The tokenizer of the data that a network with that vocabulary was trained on; its word pieces are
// those of data.vocabulary. Throws Error(Input) where the data are no text.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const DataConfig& config,
                                                        int64_t vocabulary);

}  // namespace penstock
