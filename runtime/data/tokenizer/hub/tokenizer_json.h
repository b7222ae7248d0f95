// runtime/data/tokenizer/hub/tokenizer_json.h -- a tokenizer.json (Hugging Face) as plain data: how
// a text is normalised, cut into words and put together again, and the vocabulary that words become
// ids of.
//
// Members that would change the ids and are not supported are refused by name, never guessed at.
// "truncation" and "padding", which transformers does not read either, are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/tokenizer/steps/normalizer.h"
#include "runtime/data/tokenizer/steps/pre_tokenizer.h"
#include "runtime/data/tokenizer/steps/token_decoder.h"

namespace penstock {

inline constexpr int64_t kMostTokenIds = int64_t{1} << 24;          // ids are below
inline constexpr int64_t kMostTokenizerBytes = int64_t{128} << 20;  // of a tokenizer.json

// A text that becomes one id wherever it is found, before anything else is done to a text.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;              // "special": hidden where text is shown
  bool left = false, right = false;  // "lstrip", "rstrip": white space on that side belongs to it
  bool single_word = false;          // found only where no word goes on beside it
  bool normalized = false;           // looked for in the normalised text, not in the raw one
};

// The model that makes ids of a word.
struct WordModelData {
  enum class Kind : uint8_t { BytePairs, Unigram };
  Kind kind = Kind::BytePairs;
  std::vector<std::pair<std::string, int32_t>> vocabulary;  // any order
  // The vocabulary is written in the byte alphabet (byte_alphabet.h); words to encode are plain
  // bytes.
  bool byte_level = false;
  bool byte_fallback = false;      // what is not in the vocabulary is written by words like <0x0A>
  std::optional<int32_t> unknown;  // the id of what the vocabulary cannot write
  bool fuse_unknown = false;       // neighbours that are unknown are one id
  // Byte pairs: merges by falling priority.
  std::vector<std::pair<std::string, std::string>> merges;
  bool ignore_merges = false;  // a word that is in the vocabulary as a whole is one id
  // Unigram: the score of each entry of `vocabulary`.
  std::vector<double> scores;
};

struct TokenizerJson {
  std::string path;  // for messages
  std::vector<AddedToken> added;
  std::vector<NormalStep> normal;
  std::vector<PreTokenizerStep> pre_tokenizer;
  WordModelData model;
  std::vector<int32_t> begin, end;  // ids in front of and behind a whole text
  std::vector<DecoderStep> decoder;
  bool split_special = false;  // special tokens are not looked for in a text
};

// Whether the file normalises by the compiled rules of a SentencePiece model; where the model
// itself is there, it is used instead. Throws as read_tokenizer_json().
[[nodiscard]] bool has_precompiled_rules(const std::string& path);

// Reads the file. Throws Error(Input) where there is none that is readable, or for what is not
// supported; Error(Data) naming file and key where it is damaged.
[[nodiscard]] TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace penstock
