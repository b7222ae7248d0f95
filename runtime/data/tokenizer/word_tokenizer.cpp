#include "runtime/data/tokenizer/word_tokenizer.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Throws if an id is far beyond the number of tokens. Unused ids are allowed, but they take memory
// as well.
void check_gaps(const TokenizerJson& file) {
  const size_t most = 4 * (file.model.vocabulary.size() + file.added.size()) + 4096;
  const auto check = [&](const std::string& word, int32_t id) {
    if (static_cast<size_t>(id) < most) return;
    fail_data(file.path + ": the id " + std::to_string(id) + " of " + penstock::quoted(word) +
              " is far beyond the number of its tokens");
  };
  for (const auto& [word, id] : file.model.vocabulary) check(word, id);
  for (const AddedToken& token : file.added) check(token.content, token.id);
}

std::unique_ptr<WordModel> model_of(const TokenizerJson& file) {
  check_gaps(file);
  return file.model.kind == WordModelData::Kind::BytePairs ? make_byte_pairs(file.model, file.path)
                                                           : make_unigram(file.model, file.path);
}

}  // namespace

WordTokenizer::WordTokenizer(TokenizerJson file)
    : normalizer_(file.normal, file.path),
      pre_tokenizer_(file.pre_tokenizer, file.path),
      model_(model_of(file)),
      decoder_(std::move(file.decoder)),
      begin_(std::move(file.begin)),
      end_(std::move(file.end)) {
  take_vocabulary(file);
  take_added(file);
  check_ends(file.path);
}

void WordTokenizer::take_vocabulary(const TokenizerJson& file) {
  for (const auto& [word, id] : file.model.vocabulary) {
    if (word.empty()) fail_data(file.path + ": a word of its vocabulary is empty");
    if (id >= size()) texts_.resize(static_cast<size_t>(id) + 1);
    Text& text = texts_[static_cast<size_t>(id)];
    if (!text.token.text.empty()) {
      fail_data(file.path + ": id " + std::to_string(id) + " has two words, " + quoted(word) +
                " is one of them");
    }
    text.token.text = word;
    ids_.insert_or_assign(word, id);
  }
}

// Takes the added tokens. An added token that is a word of the vocabulary has the id of that word;
// the other added tokens have the ids behind the vocabulary, in order. The `tokenizers` package
// gives these ids whatever the file says, so a file with other ids is refused.
void WordTokenizer::take_added(TokenizerJson& file) {
  auto next = static_cast<int64_t>(file.model.vocabulary.size());
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
    texts_[static_cast<size_t>(token.id)] = {{token.content, true}, token.special};
    ids_.emplace(token.content, token.id);
    if (token.special && file.split_special) continue;
    if (token.normalized) {
      std::string storage;
      bool ignored = true;
      token.content = std::string(normalizer_.apply(token.content, {}, storage, ignored));
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  raw_added_.emplace(std::move(raw), file.path);
  normalized_added_.emplace(std::move(normalized), file.path);
}

void WordTokenizer::check_ends(const std::string& path) const {
  for (const std::vector<int32_t>* ids : {&begin_, &end_}) {
    for (const int32_t id : *ids) {
      if (id < size() && !texts_[static_cast<size_t>(id)].token.text.empty()) continue;
      fail_data(path + ": id " + std::to_string(id) + " of its post-processor is no token");
    }
  }
}

std::optional<int32_t> WordTokenizer::find(const std::string& token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<int32_t> WordTokenizer::encode(std::string_view text) const {
  return encode_part(text, {});
}

std::vector<int32_t> WordTokenizer::encode_part(std::string_view part, PartOfText place) const {
  using Start = PreTokenizer::Start;
  std::string storage;
  const std::string_view valid = valid_utf8(part, storage);
  const char* const valid_end = valid.data() + valid.size();
  const Start first = place.begins ? Start::Text : Start::Nothing;
  WordModel::Words words(*model_);
  std::vector<int32_t> ids;
  raw_added_->for_each_part(valid, [&](std::string_view stretch, std::optional<int32_t> id) {
    if (id) return ids.push_back(*id);
    const Start start = stretch.data() == valid.data() ? first : Start::Stretch;
    const bool ends = place.ends || stretch.data() + stretch.size() != valid_end;
    encode_stretch(stretch, start, ends, words, ids);
  });
  return ids;
}

// Encodes a stretch between added tokens. `ends`: it ends there, and is not cut off by the end of a
// part.
void WordTokenizer::encode_stretch(std::string_view text, PreTokenizer::Start start, bool ends,
                                   WordModel::Words& words, std::vector<int32_t>& ids) const {
  using Start = PreTokenizer::Start;
  std::string storage;
  bool from_start = true;
  text = normalizer_.apply(text, {start != Start::Nothing, ends}, storage, from_start);
  if (start == Start::Text && !from_start) start = Start::Stretch;
  normalized_added_->for_each_part(text, [&](std::string_view part, std::optional<int32_t> id) {
    if (id) return ids.push_back(*id);
    pre_tokenizer_.for_each_word(part, part.data() == text.data() ? start : Start::Stretch,
                                 [&](std::string_view word) { words.encode(word, ids); });
  });
}

std::string WordTokenizer::decode(std::span<const int32_t> ids, bool hide_special) const {
  std::vector<WrittenToken> tokens;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size()) continue;
    const Text& text = texts_[static_cast<size_t>(id)];
    if (text.token.text.empty() || (hide_special && text.special)) continue;
    tokens.push_back(text.token);
  }
  return joined_text(std::move(tokens), decoder_);
}

}  // namespace penstock
