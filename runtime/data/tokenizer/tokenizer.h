// runtime/data/tokenizer/tokenizer.h -- Tokenizer: the interface by which training data, prompts
// and generated texts are turned into token ids and ids into text; for data.kind = "text" and
// "jsonl".
//
// Behind it are the bytes of a text, SentencePiece pieces (pieces.h), or the tokenizer of a Hugging
// Face folder (hub/hub_tokenizer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config.h"

namespace penstock {

// The ids of tokens that begin a text, end a text and fill rows; -1: the vocabulary has no such
// token.
struct SpecialIds {
  int32_t begin = -1, end = -1, padding = -1;
};

// Whether a whole text begins where a part of it begins, and ends where the part ends.
struct PartOfText {
  bool begins = true, ends = true;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  [[nodiscard]] virtual int64_t size() const = 0;  // ids are in [0, size())
  // The ids of a text, without special tokens around it. Thread safe. Throws Error(Input) naming
  // what is not in the vocabulary.
  [[nodiscard]] virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // The same for a part of a longer text: what the tokenizer does to the two ends of a text, such
  // as a space put before it, is done where the text ends and not where the part does. A tokenizer
  // that cannot tell them apart takes the part for a text. Whether the ids of two parts end to end
  // are those of both together depends on where the text is parted (tokens/cut_text.cpp).
  [[nodiscard]] virtual std::vector<int32_t> encode_part(std::string_view part,
                                                         PartOfText /*place*/) const {
    return encode(part);
  }
  // The text of the ids, which are in [0, size()), as bytes.
  [[nodiscard]] virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // The token that is put in front of a generated text that has no prompt: the end of a line, or
  // the token that begins a text.
  [[nodiscard]] virtual int32_t start() const = 0;
  [[nodiscard]] virtual SpecialIds special() const { return {}; }
  // What a user may want to know of the tokenizer, in one line; empty: nothing.
  [[nodiscard]] virtual std::string note() const { return {}; }
  // The ids of a whole text, with the special tokens that the vocabulary's maker puts around one.
  [[nodiscard]] virtual std::vector<int32_t> encode_whole(std::string_view text) const {
    return encode(text);
  }
  // As decode(), for showing the text to people: special tokens leave no trace.
  [[nodiscard]] virtual std::string decode_shown(std::span<const int32_t> ids) const {
    return decode(ids);
  }
};

// The tokenizer of the data that a network was trained on, as its [data] section says: bytes, the
// word pieces of the file data.vocabulary, or that of the folder data.vocabulary. `vocabulary`: how
// many ids the network has. Throws Error(Input) if the data are no text, if the file or folder is
// not there, or if the folder needs what is not supported; Error(Data) if a file is damaged;
// Error(Resource) if this program was built without the part for tokenizers.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const DataConfig& config,
                                                        int64_t vocabulary);

}  // namespace penstock
