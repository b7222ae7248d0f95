// runtime/data/tokenizer/models/word_cache.h -- WordCache: the ids of words that were met before,
// since languages repeat their words. Used by one thread at a time.
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

  // Appends the ids of the word and returns true; returns false where the word is not known.
  bool find(std::string_view word, std::vector<int32_t>& ids) const;
  // Adds a word that is not known. Words above kMostBytes are not kept, for they are seldom met
  // again. Forgets all others where there is no room.
  void add(std::string_view word, std::span<const int32_t> ids);

 private:
  // The table has open addressing and is half full at most: looking up a word that is often met
  // touches three lines of the processor's cache.
  static constexpr size_t kSlots = size_t{1} << 18;
  static constexpr size_t kMostBytes = 64;  // of a word that is kept
  struct Slot {
    uint32_t hash = 0;  // the upper half of the hash; the lower gives the place
    uint32_t first_byte = 0, first_id = 0;
    uint16_t bytes = 0, ids = 0;  // no bytes: the slot is free
  };
  [[nodiscard]] size_t place_of(std::string_view word, size_t hash) const;

  std::vector<Slot> slots_;
  size_t words_ = 0;
  std::string texts_;  // of the words, end to end
  std::vector<int32_t> ids_;
};

}  // namespace penstock
