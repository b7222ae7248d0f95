// runtime/data/words/byte_pairs.h -- BytePairs: texts as ids of a byte-level vocabulary (GPT-2,
// Llama 3, Qwen), the very ids that the `tokenizers` package gives.
//
// Bytes that are no UTF-8 become U+FFFD first, as Python's errors="replace" does it, for the
// package takes nothing but Unicode.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/words/added_tokens.h"
#include "runtime/data/words/merges.h"
#include "runtime/data/words/tokenizer_json.h"

namespace penstock {

class BytePairs {
 public:
  // Throws Error(Data) where the parts of the file do not fit one another, Error(Input) where it
  // needs what is not supported, and Error(Resource) where this build lacks what it needs.
  explicit BytePairs(TokenizerJson file);

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  // Thread safe. Added tokens in the text become theirs.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const;
  // The bytes. Special ids are left out where they are to be hidden, ids that nothing has always.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool hide_special) const;
  // Of a word as the file writes it, or of an added token.
  [[nodiscard]] std::optional<int32_t> find(const std::string& token) const;
  [[nodiscard]] const std::vector<int32_t>& begin() const { return begin_; }
  [[nodiscard]] const std::vector<int32_t>& end() const { return end_; }

 private:
  struct Text {
    std::string bytes;
    bool special = false;
  };
  struct Cut {
    std::optional<Expression> expression;
    CutStep step;
  };
  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  void take_vocabulary(const TokenizerJson& file);
  void take_merges(const TokenizerJson& file);
  void take_added(TokenizerJson& file);
  void encode_stretch(std::string_view text, std::vector<int32_t>& ids) const;
  void cut_and_merge(std::string_view piece, size_t step, std::vector<int32_t>& ids) const;
  void merge_word(std::string_view word, std::vector<int32_t>& ids) const;

  std::vector<Text> texts_;  // by id
  ByText<int32_t> ids_;      // as the file writes them
  ByText<int32_t> words_;    // by bytes
  std::array<int32_t, 256> byte_ids_{};
  Merges merges_;
  std::optional<AddedTokens> raw_added_, normalized_added_;
  std::vector<Cut> cuts_;
  bool compose_ = false, ignore_merges_ = false;
  std::vector<int32_t> begin_, end_;

  mutable std::mutex mutex_;
  mutable ByText<std::vector<int32_t>> known_;  // words that were merged before; under the mutex
};

}  // namespace penstock
