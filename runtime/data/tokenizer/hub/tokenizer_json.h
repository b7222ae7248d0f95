// runtime/data/tokenizer/hub/tokenizer_json.h -- TokenizerJson: the contents of a tokenizer.json
// (Hugging Face) as plain data, and the function that reads the file.
//
// It says how a text is normalised and cut into words, which ids words become, and how ids become
// text again; word_tokenizer.h does it. Parts of the file that would change the ids and are not
// supported are refused by name. "truncation" and "padding" are ignored, as transformers ignores
// them.
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

inline constexpr int64_t kMostTokenIds = int64_t{1} << 24;          // ids must be below this
inline constexpr int64_t kMostTokenizerBytes = int64_t{128} << 20;  // size of a tokenizer.json

// An added token, such as "<s>": a text that becomes one id wherever it is found, before the rest
// of a text is cut into words.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;              // it is left out when text is shown to people
  bool left = false, right = false;  // "lstrip", "rstrip": white space on that side belongs to it
  bool single_word = false;          // found only where no character of a word stands beside it
  bool normalized = false;           // looked for in the normalised text, not in the text as given
};

// The model that makes ids of a word: byte pair encoding, or a unigram model.
struct WordModelData {
  enum class Kind : uint8_t { BytePairs, Unigram };
  Kind kind = Kind::BytePairs;
  std::vector<std::pair<std::string, int32_t>> vocabulary;  // entries with their ids, in any order
  // The entries are written in the byte alphabet (byte_alphabet.h), while words to encode are plain
  // bytes.
  bool byte_level = false;
  bool byte_fallback = false;      // bytes that no entry has are written by entries like "<0x0A>"
  std::optional<int32_t> unknown;  // the id for what the vocabulary cannot write; nullopt: none
  bool fuse_unknown = false;       // several such characters in a row become one id
  // Byte pairs: the pairs that are merged, the most important first.
  std::vector<std::pair<std::string, std::string>> merges;
  bool ignore_merges = false;  // byte pairs: a word that is an entry as a whole is not cut
  // Unigram: the score (log-probability) of each entry, in the order of `vocabulary`.
  std::vector<double> scores;
};

struct TokenizerJson {
  std::string path;  // of the file, for messages
  std::vector<AddedToken> added;
  std::vector<NormalStep> normal;               // what is done to a text first
  std::vector<PreTokenizerStep> pre_tokenizer;  // how it is then cut into words
  WordModelData model;                          // how words become ids
  std::vector<int32_t> begin, end;              // ids in front of and behind a whole text
  std::vector<DecoderStep> decoder;             // how tokens become a text again
  bool split_special = false;  // special tokens that stand in a text are cut like other text
};

// Whether the file normalises by the compiled rules of a SentencePiece model, which are not
// supported: if the folder has that model itself, it is used instead. Throws Error(Input) if there
// is no readable file, Error(Data) naming file and key if it is damaged.
[[nodiscard]] bool has_precompiled_rules(const std::string& path);

// Reads the file at `path`. Throws Error(Input) if there is no readable file, or for what is not
// supported; Error(Data) naming file and key if it is damaged.
[[nodiscard]] TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace penstock
