// runtime/data/tokenizer/models/word_model.h -- WordModel: turns one word of a text, as a
// PreTokenizer has cut it, into ids of a vocabulary, by byte pair encoding or by a unigram model.
//
// A caller makes, for each text, a WordModel::Words and calls its encode() for word after word.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/models/word_cache.h"

namespace penstock {

// ByText: a hash map with texts as keys, in which a std::string_view is looked up without a copy.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

class WordModel {
 public:
  virtual ~WordModel() = default;

  // Encodes the words of one text, in one thread; other threads may encode other texts at the same
  // time, each with a Words of its own. A Words has a cache of known words, which it takes from the
  // model's unused ones and gives back when it is destroyed. The model must outlive it.
  class Words {
   public:
    explicit Words(const WordModel& model);
    ~Words();
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    // Appends the ids of `word`, which is valid UTF-8 and not empty, to `ids`.
    void encode(std::string_view word, std::vector<int32_t>& ids);

   private:
    const WordModel& model_;
    std::unique_ptr<WordCache> known_;
  };

 protected:
  WordModel() = default;
  // The ids of a word, computed without the cache; the same at each call. Thread safe.
  [[nodiscard]] virtual std::vector<int32_t> ids_of(std::string_view word) const = 0;

 private:
  mutable std::mutex mutex_;  // guards idle_
  // The caches that no Words has now.
  mutable std::vector<std::unique_ptr<WordCache>> idle_;
};

// Writes bytes that the vocabulary cannot write otherwise as ids of the words <0x00> to <0xFF>
// (byte_words.h), as far as the vocabulary has these. `ids`: the vocabulary, each word with its id;
// it is read by the constructor alone.
class ByteFallback {
 public:
  explicit ByteFallback(const ByText<int32_t>& ids);
  // Appends the ids of all `bytes` and returns true; if one of them has no id, appends nothing and
  // returns false.
  bool append(std::string_view bytes, std::vector<int32_t>& ids) const;

 private:
  std::vector<int32_t> ids_;  // by byte; -1: no such word
};

// Make a model of the kind that data.kind says: byte pair encoding, or unigram. Both throw
// Error(Data) naming the file `where` if parts of `data` do not fit one another, Error(Input) for
// what is not supported.
[[nodiscard]] std::unique_ptr<WordModel> make_byte_pairs(const WordModelData& data,
                                                         const std::string& where);
[[nodiscard]] std::unique_ptr<WordModel> make_unigram(const WordModelData& data,
                                                      const std::string& where);

}  // namespace penstock
