#include "runtime/data/tokenizer/models/word_model.h"

#include <utility>

#include "runtime/data/tokenizer/steps/byte_words.h"

namespace penstock {

WordModel::Words::Words(const WordModel& model) : model_(model) {
  const std::lock_guard lock(model_.mutex_);
  if (model_.idle_.empty()) {
    known_ = std::make_unique<WordCache>();
  } else {
    known_ = std::move(model_.idle_.back());
    model_.idle_.pop_back();
  }
}

WordModel::Words::~Words() {
  const std::lock_guard lock(model_.mutex_);
  model_.idle_.push_back(std::move(known_));
}

void WordModel::Words::encode(std::string_view word, std::vector<int32_t>& ids) {
  if (known_->find(word, ids)) return;
  const std::vector<int32_t> found = model_.ids_of(word);
  known_->add(word, found);
  ids.insert(ids.end(), found.begin(), found.end());
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
