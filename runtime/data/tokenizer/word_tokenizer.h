// runtime/data/tokenizer/word_tokenizer.h -- WordTokenizer: turns texts into token ids and back as
// a tokenizer.json of Hugging Face says (GPT-2, Llama, Mistral, Qwen), with the very ids that their
// package `tokenizers` gives.
//
// A text goes through these parts in turn: added tokens are taken out (AddedTokens), the rest is
// normalised (Normalizer), cut into words (PreTokenizer), and each word becomes ids (WordModel).
// Bytes that are no UTF-8 become U+FFFD first, as Python's errors="replace" does it, since the
// package takes nothing but Unicode. hub_tokenizer.h opens a whole folder by it.
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
#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

class WordTokenizer {
 public:
  // `file` is a tokenizer.json that read_tokenizer_json() has read. Throws Error(Data) if its parts
  // do not fit one another, Error(Input) if it needs what is not supported, and Error(Resource) if
  // this build lacks a library that it needs.
  explicit WordTokenizer(TokenizerJson file);

  // Ids are below this.
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  // The ids of a text, without begin() and end(). Added tokens such as "<s>" in the text become
  // their ids. Thread safe.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const;
  // The ids of a part of a text, as Tokenizer::encode_part() gives them (tokenizer.h).
  [[nodiscard]] std::vector<int32_t> encode_part(std::string_view part, PartOfText place) const;
  // The text of the ids, as bytes. Ids that no token has, and with `hide_special` special tokens,
  // leave no trace.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool hide_special) const;
  // The id of an added token, or of a word of the vocabulary as the file writes it; nullopt: none.
  [[nodiscard]] std::optional<int32_t> find(const std::string& token) const;
  // The ids that the file puts in front of and behind a whole text; the caller adds them.
  [[nodiscard]] const std::vector<int32_t>& begin() const { return begin_; }
  [[nodiscard]] const std::vector<int32_t>& end() const { return end_; }

 private:
  struct Text {
    WrittenToken token;  // its text is empty where no token has the id
    bool special = false;
  };

  void take_vocabulary(const TokenizerJson& file);
  void take_added(TokenizerJson& file);
  void check_ends(const std::string& path) const;
  void encode_stretch(std::string_view text, PreTokenizer::Start start, bool ends,
                      WordModel::Words& words, std::vector<int32_t>& ids) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<WordModel> model_;
  std::vector<DecoderStep> decoder_;
  std::vector<int32_t> begin_, end_;
  std::vector<Text> texts_;  // by id
  ByText<int32_t> ids_;      // by the text of the token, as the file writes it
  std::optional<AddedTokens> raw_added_, normalized_added_;
};

}  // namespace penstock
