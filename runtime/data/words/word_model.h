// runtime/data/words/word_model.h -- WordModel: a word, as a Cutter gives it, as ids of a
// vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/words/tokenizer_json.h"

namespace penstock {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the ids. `word` is valid UTF-8 and not empty. Thread safe.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

 protected:
  WordModel() = default;
  // The same every time for the same word; it is not asked by two threads at once.
  [[nodiscard]] virtual std::vector<int32_t> ids_of(std::string_view word) const = 0;

 private:
  mutable std::mutex mutex_;
  mutable ByText<std::vector<int32_t>> known_;  // words that were asked for before; by the mutex
};

// By id, the words <0x00> to <0xFF>; nothing where the vocabulary lacks one.
class ByteFallback {
 public:
  explicit ByteFallback(const ByText<int32_t>& ids);
  // Appends the ids of the bytes, all of them or, where one has none, nothing. Says which.
  bool append(std::string_view bytes, std::vector<int32_t>& ids) const;

 private:
  std::vector<int32_t> ids_;  // 256; -1 where there is none
};

// Throw Error(Data) naming `where` where the parts do not fit one another, Error(Input) for what is
// not supported.
[[nodiscard]] std::unique_ptr<WordModel> make_byte_pairs(const WordModelData& data,
                                                         const std::string& where);
[[nodiscard]] std::unique_ptr<WordModel> make_unigram(const WordModelData& data,
                                                      const std::string& where);

}  // namespace penstock
