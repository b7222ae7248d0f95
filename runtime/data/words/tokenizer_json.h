// runtime/data/words/tokenizer_json.h -- a tokenizer.json (Hugging Face) of a byte-level
// vocabulary, as plain data.
//
// Fields that would change the ids and are not supported are refused by name, never guessed at.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

inline constexpr int64_t kMostTokenIds = int64_t{1} << 24;

// A text that is looked for before anything else is done, and becomes one id.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;              // "special": hidden where text is shown
  bool left = false, right = false;  // "lstrip", "rstrip": takes the white space beside it along
  bool single_word = false;          // only where no word goes on beside it
  bool normalized = false;           // looked for in the normalised text, not in the raw one
};

// How a text is cut into words. Each step cuts what the one before has left.
struct CutStep {
  enum class Keep : uint8_t {
    All,      // matches, and what lies between
    Between,  // without the matches
    Matches,  // without what lies between
  };
  std::string expression = {};  // empty: cuts nothing
  Keep keep = Keep::All;
  bool space_before = false;  // a piece that does not begin with a space gets one
};

struct TokenizerJson {
  std::string path;  // for messages
  std::vector<AddedToken> added;
  bool compose = false;  // normalizer NFC
  std::vector<CutStep> cuts;
  std::vector<std::pair<std::string, int32_t>> vocabulary;  // words of the byte alphabet, any order
  std::vector<std::pair<std::string, std::string>> merges;  // the first comes first
  bool ignore_merges = false;       // a word that is in the vocabulary is not merged
  std::vector<int32_t> begin, end;  // that a whole text is put between
};

// Whether a file is of this kind, or of one that is not: the vocabularies of SentencePiece that
// are written in this format, whose .model lies beside them.
[[nodiscard]] bool is_byte_level(const std::string& path);

// Throws Error(Input) where there is no readable file, or for what is not supported; Error(Data)
// naming file and key where it is damaged.
[[nodiscard]] TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace penstock
