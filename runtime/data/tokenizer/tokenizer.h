// runtime/data/tokenizer/tokenizer.h -- Tokenizer: turns a text into token ids and ids into a
// text, for data.kind = "text" and "jsonl".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config.h"

namespace penstock {

// Ids of tokens that are no text; -1: the vocabulary has none.
struct SpecialIds {
  int32_t begin = -1, end = -1, padding = -1;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  [[nodiscard]] virtual int64_t size() const = 0;  // ids are below it
  // Throws Error(Input) naming what is not in the vocabulary.
  [[nodiscard]] virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  [[nodiscard]] virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // The token behind which a text without a prompt begins: the end of a line, or what comes
  // closest.
  [[nodiscard]] virtual int32_t start() const = 0;
  [[nodiscard]] virtual SpecialIds special() const { return {}; }
  // What a user may want to know of it, in one line; empty: nothing.
  [[nodiscard]] virtual std::string note() const { return {}; }
  // Encodes a whole text, with the special tokens that the vocabulary's maker puts around it.
  [[nodiscard]] virtual std::vector<int32_t> encode_whole(std::string_view text) const {
    return encode(text);
  }
  // The text as it is shown to people: special tokens leave no trace.
  [[nodiscard]] virtual std::string decode_shown(std::span<const int32_t> ids) const {
    return decode(ids);
  }
};

// The tokenizer of the data that a network was trained on; `vocabulary`: how many ids the network
// has. Word pieces are those of the file data.vocabulary. Throws Error(Input) where the data are no
// text.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const DataConfig& config,
                                                        int64_t vocabulary);

}  // namespace penstock
