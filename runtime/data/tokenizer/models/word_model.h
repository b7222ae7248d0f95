// runtime/data/tokenizer/models/word_model.h -- WordModel: a word, as a Cutter gives it, as ids of
// a vocabulary.
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

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

class WordModel {
 public:
  virtual ~WordModel() = default;

  // The words of one text, for one thread; texts may have theirs at once. What the words of earlier
  // texts came to is known to it, and what it learns to later ones.
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
  // The same every time for the same word. Thread safe.
  [[nodiscard]] virtual std::vector<int32_t> ids_of(std::string_view word) const = 0;

 private:
  mutable std::mutex mutex_;
  // Those that no text has now, by the mutex: as many as there were texts at once.
  mutable std::vector<std::unique_ptr<WordCache>> idle_;
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
