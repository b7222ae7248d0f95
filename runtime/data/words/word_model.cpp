#include "runtime/data/words/word_model.h"

#include "runtime/data/words/byte_words.h"

namespace penstock {
namespace {

// Of the cache: languages repeat their words, and what is longer is seldom met again.
constexpr size_t kMostKnownWords = 1 << 17;
constexpr size_t kLongestKnownWord = 64;

}  // namespace

void WordModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (word.size() > kLongestKnownWord) {
    const std::vector<int32_t> found = ids_of(word);
    ids.insert(ids.end(), found.begin(), found.end());
    return;
  }
  auto known = known_.find(word);
  if (known == known_.end()) {
    if (known_.size() >= kMostKnownWords) known_.clear();
    known = known_.emplace(word, ids_of(word)).first;
  }
  ids.insert(ids.end(), known->second.begin(), known->second.end());
}

ByteFallback::ByteFallback(const ByText<int32_t>& ids) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(word_of_byte(static_cast<uint8_t>(byte)));
    ids_.push_back(found == ids.end() ? -1 : found->second);
  }
}

bool ByteFallback::append(std::string_view bytes, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  for (const char c : bytes) {
    ids.push_back(ids_[static_cast<uint8_t>(c)]);
    if (ids.back() >= 0) continue;
    ids.resize(before);
    return false;
  }
  return true;
}

}  // namespace penstock
