// runtime/data/tokenizer/models/word_model.h -- WordModel: makes ids of a vocabulary of a word, as
// a PreTokenizer cuts it, by byte pairs or by a unigram model.
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

// For ByText, a map by texts in which a std::string_view is looked up without a copy.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

class WordModel {
 public:
  virtual ~WordModel() = default;

  // Encodes the words of one text, in one thread; several texts may be encoded at once, each by its
  // own Words. Each takes over the cache of known words of one that has ended.
  class Words {
   public:
    explicit Words(const WordModel& model);
    ~Words();
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    // Appends the ids. `word` is valid UTF-8 and not empty.
    void encode(std::string_view word, std::vector<int32_t>& ids);

   private:
    const WordModel& model_;
    std::unique_ptr<WordCache> known_;
  };

 protected:
  WordModel() = default;
  // The ids of a word, without the cache: the same at each call. Thread safe.
  [[nodiscard]] virtual std::vector<int32_t> ids_of(std::string_view word) const = 0;

 private:
  mutable std::mutex mutex_;
  // The caches that no Words has now, guarded by the mutex.
  mutable std::vector<std::unique_ptr<WordCache>> idle_;
};

// Writes bytes by the words <0x00> to <0xFF>, as far as the vocabulary has them.
class ByteFallback {
 public:
  explicit ByteFallback(const ByText<int32_t>& ids);
  // Appends the ids of all the bytes and returns true; where one has no id, appends nothing and
  // returns false.
  bool append(std::string_view bytes, std::vector<int32_t>& ids) const;

 private:
  std::vector<int32_t> ids_;  // by byte; -1: no such word
};

// The models of the two kinds. Both throw Error(Data) naming the file `where` if parts of `data` do
// not fit one another, Error(Input) for what is not supported.
[[nodiscard]] std::unique_ptr<WordModel> make_byte_pairs(const WordModelData& data,
                                                         const std::string& where);
[[nodiscard]] std::unique_ptr<WordModel> make_unigram(const WordModelData& data,
                                                      const std::string& where);

}  // namespace penstock
