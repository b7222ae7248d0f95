// runtime/data/tokenizer/models/word_cache.h -- WordCache: remembers the ids of words that a
// WordModel has encoded, since texts repeat their words and looking one up is faster than encoding
// it again. For one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

class WordCache {
 public:
  WordCache() : slots_(kSlots) {}

  // Appends the ids of the word to `ids` and returns true; returns false if the word is not in the
  // cache.
  bool find(std::string_view word, std::vector<int32_t>& ids) const;
  // Adds a word for which find() returned false. Does nothing for a word of more than kMostBytes,
  // which seldom comes again. If the cache is full, it first forgets all words.
  void add(std::string_view word, std::span<const int32_t> ids);

 private:
  // The table has open addressing and is half full at most: looking up a word that is often met
  // touches three lines of the processor's cache.
  static constexpr size_t kSlots = size_t{1} << 18;
  static constexpr size_t kMostBytes = 64;  // of a word that is kept
  struct Slot {
    uint32_t hash = 0;  // the upper half of the word's hash; the lower half gives the slot
    uint32_t first_byte = 0, first_id = 0;  // where its text and its ids begin in texts_ and ids_
    uint16_t bytes = 0, ids = 0;            // how many of each; bytes 0: the slot is free
  };
  [[nodiscard]] size_t place_of(std::string_view word, size_t hash) const;

  std::vector<Slot> slots_;
  size_t words_ = 0;
  std::string texts_;         // of all words, end to end
  std::vector<int32_t> ids_;  // of all words, end to end
};

}  // namespace penstock
