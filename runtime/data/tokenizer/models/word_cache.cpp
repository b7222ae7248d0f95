#include "runtime/data/tokenizer/models/word_cache.h"

#include <functional>

namespace penstock {
namespace {

size_t hash_of(std::string_view word) {
  return std::hash<std::string_view>()(word);
}

}  // namespace

// Returns the slot that holds the word, or else the free slot in which the word belongs.
size_t WordCache::place_of(std::string_view word, size_t hash) const {
  const auto upper = static_cast<uint32_t>(hash >> 32);
  size_t at = hash % kSlots;
  for (; slots_[at].bytes != 0; at = (at + 1) % kSlots) {
    const Slot& slot = slots_[at];
    if (slot.hash == upper && slot.bytes == word.size() &&
        std::string_view(texts_).substr(slot.first_byte, slot.bytes) == word) {
      break;
    }
  }
  return at;
}

bool WordCache::find(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() > kMostBytes) return false;
  const Slot& slot = slots_[place_of(word, hash_of(word))];
  if (slot.bytes == 0) return false;
  const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(slot.first_id);
  ids.insert(ids.end(), first, first + slot.ids);
  return true;
}

void WordCache::add(std::string_view word, std::span<const int32_t> ids) {
  if (word.empty() || word.size() > kMostBytes || ids.size() > UINT16_MAX) return;
  if (words_ >= kSlots / 2) {
    slots_.assign(kSlots, {});
    words_ = 0;
    texts_.clear();
    ids_.clear();
  }
  const size_t hash = hash_of(word);
  Slot& slot = slots_[place_of(word, hash)];
  slot = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(texts_.size()),
          static_cast<uint32_t>(ids_.size()), static_cast<uint16_t>(word.size()),
          static_cast<uint16_t>(ids.size())};
  ++words_;
  texts_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace penstock
