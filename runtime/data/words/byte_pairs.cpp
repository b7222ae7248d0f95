#include "runtime/data/words/byte_pairs.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/words/byte_alphabet.h"
#include "runtime/data/words/normal_form.h"
#include "runtime/data/words/utf8.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

// Of the cache: languages repeat their words, and what is longer is seldom met again.
constexpr size_t kMostKnownWords = 1 << 17;
constexpr size_t kLongestKnownWord = 64;

// Ids may have gaps; of so many that memory would go to nobody's id, something is wrong.
void check_gaps(const TokenizerJson& file) {
  const size_t most = 4 * (file.vocabulary.size() + file.added.size()) + 4096;
  const auto check = [&](const std::string& word, int32_t id) {
    if (static_cast<size_t>(id) < most) return;
    fail_data(file.path + ": the id " + std::to_string(id) + " of " + penstock::quoted(word) +
              " is far beyond the number of its tokens");
  };
  for (const auto& [word, id] : file.vocabulary) check(word, id);
  for (const AddedToken& token : file.added) check(token.content, token.id);
}

}  // namespace

BytePairs::BytePairs(TokenizerJson file)
    : compose_(file.compose),
      ignore_merges_(file.ignore_merges),
      begin_(std::move(file.begin)),
      end_(std::move(file.end)) {
  check_gaps(file);
  take_vocabulary(file);
  take_merges(file);
  take_added(file);
  for (CutStep& step : file.cuts) {
    Cut cut{std::nullopt, std::move(step)};
    if (!cut.step.expression.empty()) cut.expression.emplace(cut.step.expression, file.path);
    cuts_.push_back(std::move(cut));
  }
  for (const std::vector<int32_t>* ids : {&begin_, &end_}) {
    for (const int32_t id : *ids) {
      if (id < size() && !texts_[static_cast<size_t>(id)].bytes.empty()) continue;
      fail_data(file.path + ": id " + std::to_string(id) + " of its post-processor is no token");
    }
  }
}

void BytePairs::take_vocabulary(const TokenizerJson& file) {
  for (const auto& [word, id] : file.vocabulary) {
    if (word.empty()) fail_data(file.path + ": a word of its vocabulary is empty");
    if (id >= size()) texts_.resize(static_cast<size_t>(id) + 1);
    Text& text = texts_[static_cast<size_t>(id)];
    if (!text.bytes.empty()) {
      fail_data(file.path + ": id " + std::to_string(id) + " has two words, " + quoted(word) +
                " is one of them");
    }
    const std::optional<std::string> bytes = bytes_of_word(word);
    text.bytes = bytes.value_or(word);
    ids_.emplace(word, id);
    if (bytes) words_.emplace(*bytes, id);
  }
  byte_ids_.fill(-1);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string word(1, static_cast<char>(byte));
    const auto found = words_.find(word);
    if (found == words_.end()) {
      fail_input(file.path + ": its vocabulary has no word for the byte " + std::to_string(byte) +
                 ", and only vocabularies that have all 256 are supported");
    }
    byte_ids_[static_cast<size_t>(byte)] = found->second;
  }
}

void BytePairs::take_merges(const TokenizerJson& file) {
  for (const auto& merge : file.merges) {
    const auto id_of = [&](const std::string& word) {
      const auto found = ids_.find(word);
      if (found != ids_.end()) return found->second;
      fail_data(file.path + ": the merge of " + quoted(merge.first) + " and " +
                quoted(merge.second) + " needs " + quoted(word) + ", which its vocabulary has not");
    };
    merges_.add(id_of(merge.first), id_of(merge.second), id_of(merge.first + merge.second));
  }
}

// An added token that is a word of the vocabulary has that word's id; the ids of the others go on
// behind it, in their order. The package gives them ids in this way whatever the file says.
void BytePairs::take_added(TokenizerJson& file) {
  const auto words = static_cast<int64_t>(file.vocabulary.size());
  int64_t next = words;
  std::vector<AddedToken> raw, normalized;
  for (AddedToken& token : file.added) {
    const auto found = ids_.find(token.content);
    const int64_t expected = found != ids_.end() ? found->second : next;
    if (token.id != expected) {
      fail_data(file.path + ": the added token " + penstock::quoted(token.content) +
                " has the id " + std::to_string(token.id) + ", and by its place it is " +
                std::to_string(expected));
    }
    next = std::max<int64_t>(next, int64_t{token.id} + 1);
    if (token.id >= size()) texts_.resize(static_cast<size_t>(token.id) + 1);
    texts_[static_cast<size_t>(token.id)] = {token.content, token.special};
    ids_.emplace(token.content, token.id);
    if (token.normalized && compose_) {
      std::string storage;
      token.content = composed_form(token.content, storage);
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  raw_added_.emplace(std::move(raw), file.path);
  normalized_added_.emplace(std::move(normalized), file.path);
}

std::optional<int32_t> BytePairs::find(const std::string& token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<int32_t> BytePairs::encode(std::string_view text) const {
  std::string storage;
  const std::string_view valid = valid_utf8(text, storage);
  std::vector<int32_t> ids;
  const std::lock_guard<std::mutex> lock(mutex_);
  raw_added_->for_each_part(valid, [&](std::string_view part, std::optional<int32_t> id) {
    if (id) {
      ids.push_back(*id);
    } else {
      encode_stretch(part, ids);
    }
  });
  return ids;
}

void BytePairs::encode_stretch(std::string_view text, std::vector<int32_t>& ids) const {
  std::string storage;
  if (compose_) text = composed_form(text, storage);
  normalized_added_->for_each_part(text, [&](std::string_view part, std::optional<int32_t> id) {
    if (id) {
      ids.push_back(*id);
    } else {
      cut_and_merge(part, 0, ids);
    }
  });
}

void BytePairs::cut_and_merge(std::string_view piece, size_t step,
                              std::vector<int32_t>& ids) const {
  if (piece.empty()) return;
  if (step == cuts_.size()) return merge_word(piece, ids);
  const Cut& cut = cuts_[step];
  std::string with_space;
  if (cut.step.space_before && !piece.starts_with(' ')) {
    with_space = " " + std::string(piece);
    piece = with_space;
  }
  if (!cut.expression) return cut_and_merge(piece, step + 1, ids);
  using Keep = CutStep::Keep;
  size_t done = 0;
  const auto between = [&](size_t end) {
    if (cut.step.keep == Keep::Matches) return;
    cut_and_merge(piece.substr(done, end - done), step + 1, ids);
  };
  cut.expression->for_each_match(piece, [&](size_t begin, size_t end) {
    between(begin);
    if (cut.step.keep != Keep::Between) {
      cut_and_merge(piece.substr(begin, end - begin), step + 1, ids);
    }
    done = end;
  });
  between(piece.size());
}

void BytePairs::merge_word(std::string_view word, std::vector<int32_t>& ids) const {
  const bool cached = word.size() <= kLongestKnownWord;
  if (cached) {
    if (const auto known = known_.find(word); known != known_.end()) {
      ids.insert(ids.end(), known->second.begin(), known->second.end());
      return;
    }
  }
  std::vector<int32_t> symbols;
  const auto whole = ignore_merges_ ? words_.find(word) : words_.end();
  if (whole != words_.end()) {
    symbols = {whole->second};
  } else {
    symbols.reserve(word.size());
    for (const char c : word) symbols.push_back(byte_ids_[static_cast<uint8_t>(c)]);
    merges_.apply(symbols);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  if (!cached) return;
  if (known_.size() >= kMostKnownWords) known_.clear();
  known_.emplace(word, std::move(symbols));
}

std::string BytePairs::decode(std::span<const int32_t> ids, bool hide_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size()) continue;
    const Text& text = texts_[static_cast<size_t>(id)];
    if (!(hide_special && text.special)) bytes += text.bytes;
  }
  return bytes;
}

}  // namespace penstock
