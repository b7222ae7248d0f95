// runtime/data/tokenizer/word_tokenizer.h -- WordTokenizer: texts as ids by a tokenizer.json
// (GPT-2, Llama, Mistral, Qwen), the very ids that the `tokenizers` package gives.
//
// Bytes that are no UTF-8 become U+FFFD first, as Python's errors="replace" does it, for the
// package takes nothing but Unicode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/models/word_model.h"
#include "runtime/data/tokenizer/steps/added_tokens.h"

namespace penstock {

class WordTokenizer {
 public:
  // Throws Error(Data) where the parts of the file do not fit one another, Error(Input) where it
  // needs what is not supported, and Error(Resource) where this build lacks what it needs.
  explicit WordTokenizer(TokenizerJson file);

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  // Thread safe. Added tokens in the text become their ids.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const;
  // The bytes of the ids. Leaves out ids that no token has, and special ones if `hide_special`.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool hide_special) const;
  // The id of a word, written as in the file, or of an added token.
  [[nodiscard]] std::optional<int32_t> find(const std::string& token) const;
  // The ids in front of and behind a whole text.
  [[nodiscard]] const std::vector<int32_t>& begin() const { return begin_; }
  [[nodiscard]] const std::vector<int32_t>& end() const { return end_; }

 private:
  struct Text {
    WrittenToken token;  // empty: nobody has the id
    bool special = false;
  };

  void take_vocabulary(const TokenizerJson& file);
  void take_added(TokenizerJson& file);
  void check_ends(const std::string& path) const;
  void encode_stretch(std::string_view text, bool at_start, WordModel::Words& words,
                      std::vector<int32_t>& ids) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<WordModel> model_;
  std::vector<DecoderStep> decoder_;
  std::vector<int32_t> begin_, end_;
  std::vector<Text> texts_;  // by id
  ByText<int32_t> ids_;      // as the file writes them
  std::optional<AddedTokens> raw_added_, normalized_added_;
};

}  // namespace penstock
