#include "runtime/data/datasets/text/text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/share.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/bounded_tokens.h"
#include "runtime/data/tokens/shards/token_shards.h"
#include "runtime/data/tokens/token_cache.h"

namespace penstock {
namespace {

std::string amount(const TokenSource& tokens, int64_t n) {
  return std::to_string(n) + " " + tokens.unit() + (n == 1 ? "" : "s");
}

bool begins_with_mark(const TokenSource& bytes) {
  std::array<int32_t, 3> first{};
  if (bytes.size() < std::ssize(first)) return false;
  bytes.read(0, first);
  return first == std::array{0xEF, 0xBB, 0xBF};
}

// Opens the tokens of files, by data.kind and data.tokenizer. Keeps what it learns of the
// vocabulary on the way.
class Opener {
 public:
  explicit Opener(const DataConfig& config) : config_(config) {
    if (uses_pieces(config)) {
      if (config.vocabulary.empty()) fail_internal("text was opened without its vocabulary");
      pieces_ = std::make_unique<Pieces>(config.vocabulary);
      vocabulary_ = pieces_->size();
    } else if (uses_folder(config)) {
      if (config.vocabulary.empty()) {
        fail_input(
            "data.tokenizer = \"folder\" needs the folder: give model.from or "
            "data.vocabulary");
      }
      tokenizer_ = open_hub_tokenizer(config.vocabulary);
      note_ = tokenizer_->note();
      vocabulary_ = tokenizer_->size();
    } else if (config.kind == "text") {
      vocabulary_ = kByteVocabulary;
    }
  }

  [[nodiscard]] int64_t vocabulary() const { return vocabulary_; }

  std::shared_ptr<const TokenSource> open(const std::string& path) {
    std::shared_ptr<const TokenSource> tokens;
    if (config_.kind == "tokens") {
      TokenFile file = open_token_files(path);
      vocabulary_ = std::max(vocabulary_, file.vocabulary);
      tokens = std::move(file.tokens);
    } else {
      const bool cut = pieces_ || tokenizer_;
      tokens = cut ? open_in_pieces(path) : open_bytes(path, config_.unpack_limit);
      if (!cut && begins_with_mark(*tokens)) note_mark(path);
    }
    if (tokens->size() == 0) fail_input(path + " is empty: give a file with text in it");
    return tokens;
  }

  // Whether `tokens` may have ids that are not below `vocabulary`. Tokenizers make none, and one
  // that is larger than the network's vocabulary is refused by who knows both.
  [[nodiscard]] bool may_exceed(int64_t vocabulary) const {
    const bool cut = pieces_ || tokenizer_;
    return !cut && vocabulary > 0 && (config_.kind == "tokens" || vocabulary < kByteVocabulary);
  }

  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  std::shared_ptr<const TokenSource> open_in_pieces(const std::string& path) {
    TextInPieces text = tokenizer_ ? text_by_tokenizer(path, config_, *tokenizer_)
                                   : text_in_pieces(path, config_, *pieces_, TextForm::Row);
    if (!text.note.empty() && !kept_note_) {
      add_note(text.note);
      kept_note_ = true;
    }
    if (text.not_utf8 > 0) {
      add_note(path + " has " + std::to_string(text.not_utf8) +
               " bytes that are no UTF-8, in whose place U+FFFD is read: save it as UTF-8");
    }
    if (text.marked) note_mark(path);
    return text.tokens;
  }

  void add_note(const std::string& note) { note_ += (note_.empty() ? "" : "; ") + note; }
  void note_mark(const std::string& path) {
    add_note(path +
             " begins with a byte order mark, which is read as its first character, U+FEFF: save "
             "it as UTF-8 without one if it is no part of the text");
  }

  const DataConfig& config_;
  std::string note_;
  bool kept_note_ = false;  // whether note_ says that tokens could not be cached
  std::unique_ptr<Pieces> pieces_;
  std::unique_ptr<Tokenizer> tokenizer_;  // the tokenizer of a Hugging Face folder
  int64_t vocabulary_ = 0;
};

// Replaces the row by one that refuses ids of `vocabulary` and more, and looks at those of
// [begin, end).
void bound(std::shared_ptr<const TokenSource>& tokens, int64_t vocabulary, const std::string& whose,
           int64_t begin, int64_t end) {
  auto bounded = std::make_shared<BoundedTokens>(std::move(tokens), vocabulary, whose);
  bounded->look(begin, end);
  tokens = std::move(bounded);
}

}  // namespace

TextDataset::TextDataset(std::shared_ptr<const TokenSource> tokens, int64_t begin, int64_t end,
                         int64_t context, Windows windows)
    : tokens_(std::move(tokens)),
      begin_(begin),
      end_(end),
      context_(context),
      windows_(windows),
      fields_{{"tokens", {context}, DType::I32}, {"labels", {context}, DType::I32}} {
  const int64_t targets = end - begin - 1;  // nothing predicts the first token
  size_ = (windows == Windows::Padded ? targets + context - 1 : targets) / context;
  if (context < 1 || size_ < 1) fail_internal("a text part without a window: " + tokens_->path());
}

void TextDataset::read(int64_t index, const RandomStream& random,
                       std::span<void* const> out) const {
  int64_t first = begin_ + index * context_;
  if (windows_ == Windows::Moving) {
    const int64_t last_start = end_ - 1 - context_;
    const int64_t starts = std::min(context_, last_start - first + 1);
    const uint64_t word = philox(random, 0)[0];
    first += static_cast<int64_t>(word * static_cast<uint64_t>(starts) >> 32);
  }
  const auto targets = static_cast<size_t>(std::min(context_, end_ - 1 - first));
  const auto fill = [&](void* to, int64_t from, int32_t padding) {
    if (to == nullptr) return;
    const std::span window(static_cast<int32_t*>(to), static_cast<size_t>(context_));
    tokens_->read(from, window.first(targets));
    std::ranges::fill(window.subspan(targets), padding);
  };
  fill(out[0], first, 0);
  fill(out[1], first + 1, -1);
}

Datasets open_text(const DataConfig& config, int64_t context, int64_t vocabulary, IdLooks looks) {
  using Windows = TextDataset::Windows;
  constexpr int64_t kMostLookedAt = int64_t{1} << 30;
  Opener opener(config);
  auto train = opener.open(config.train);
  const auto share = share_of(config.validation);
  auto train_end = train->size();
  if (share) train_end = static_cast<int64_t>(static_cast<double>(train_end) * (1 - *share));
  if (train_end < context + 1) {
    fail_input(train->path() + " has " + amount(*train, train_end) +
               " to train on, and one window of model.context = " + std::to_string(context) +
               " needs " + amount(*train, context + 1) +
               ": use a longer text or a shorter context");
  }
  const bool validates = !config.validation.empty();
  auto held_out = validates && !share ? opener.open(config.validation) : train;
  const int64_t begin = share ? train_end : 0;
  if (validates && held_out->size() - begin < 2) {
    fail_input(held_out->path() + " has " + amount(*held_out, held_out->size() - begin) +
               " to validate on, and one prediction needs 2: " +
               (share ? "use a larger data.validation" : "use a longer text"));
  }
  const int64_t below = vocabulary > 0 ? vocabulary : opener.vocabulary();
  if (opener.may_exceed(below)) {
    const std::string whose = vocabulary > 0 ? "model.vocabulary" : "the vocabulary of its header";
    const bool all = looks == IdLooks::All;
    bound(train, below, whose, 0, all ? std::min(train_end, kMostLookedAt) : 0);
    bound(held_out, below, whose, begin, all && validates ? held_out->size() : begin);
  }
  Datasets sets;
  sets.train = std::make_shared<TextDataset>(train, 0, train_end, context,
                                             config.shuffle ? Windows::Moving : Windows::Fixed);
  sets.vocabulary = opener.vocabulary();
  sets.note = opener.note();
  sets.content = content_sum(*train);
  if (!validates) return sets;
  sets.validation =
      std::make_shared<TextDataset>(held_out, begin, held_out->size(), context, Windows::Padded);
  return sets;
}

}  // namespace penstock
