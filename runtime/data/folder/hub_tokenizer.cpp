#include "runtime/data/folder/hub_tokenizer.h"

#include <filesystem>
#include <unordered_map>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/folder/folder_settings.h"
#include "runtime/data/folder/folder_words.h"
#include "runtime/data/text/pieces.h"
#include "runtime/data/words/utf8.h"
#include "runtime/data/words/word_tokenizer.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

// The id of a token that the folder names; -1 where it names none.
template <class Vocabulary>
int32_t named_id(const Vocabulary& vocabulary, const std::string& token, const std::string& where) {
  if (token.empty()) return -1;
  if (const std::optional<int32_t> id = vocabulary.find(token)) return *id;
  fail_data(where + ": the vocabulary has no token " + penstock::quoted(token));
}

template <class Vocabulary>
SpecialIds special_ids(const Vocabulary& vocabulary, const FolderSettings& settings) {
  return {.begin = named_id(vocabulary, settings.begin, settings.path),
          .end = named_id(vocabulary, settings.end, settings.path),
          .padding = named_id(vocabulary, settings.padding, settings.path)};
}

int32_t start_of(const SpecialIds& special) {
  if (special.begin >= 0) return special.begin;
  return special.end >= 0 ? special.end : 0;
}

class FolderOfWords final : public Tokenizer {
 public:
  FolderOfWords(TokenizerJson file, const FolderSettings& settings)
      : words_(std::move(file)), special_(special_ids(words_, settings)) {}
  [[nodiscard]] int64_t size() const override { return words_.size(); }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    return words_.encode(text);
  }
  [[nodiscard]] std::vector<int32_t> encode_whole(std::string_view text) const override {
    std::vector<int32_t> ids = words_.begin();
    const std::vector<int32_t> inside = words_.encode(text);
    ids.insert(ids.end(), inside.begin(), inside.end());
    ids.insert(ids.end(), words_.end().begin(), words_.end().end());
    return ids;
  }
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const override {
    return words_.decode(ids, false);
  }
  [[nodiscard]] std::string decode_shown(std::span<const int32_t> ids) const override {
    return words_.decode(ids, true);
  }
  [[nodiscard]] int32_t start() const override { return start_of(special_); }
  [[nodiscard]] SpecialIds special() const override { return special_; }

 private:
  WordTokenizer words_;
  SpecialIds special_;
};

// A model of the class LlamaTokenizer without a tokenizer.json. It begins with <s> unless the
// folder says otherwise; where there is a tokenizer.json that alone says what is put around a text.
std::unique_ptr<Tokenizer> llama_pieces(const std::string& model, FolderSettings settings) {
  const Pieces pieces(model);
  if (settings.begin.empty()) settings.begin = "<s>";
  if (settings.end.empty()) settings.end = "</s>";
  TokenizerJson file = byte_pairs_of(pieces, model);
  cut_as_llama(file, settings);
  take_added_tokens(file, settings);
  const std::optional<int32_t> begin = pieces.find(settings.begin), end = pieces.find(settings.end);
  if (begin && settings.add_begin.value_or(true)) file.begin = {*begin};
  if (end && settings.add_end.value_or(false)) file.end = {*end};
  return std::make_unique<FolderOfWords>(std::move(file), settings);
}

// Pieces, and the tokens that the folder adds to them or finds in texts: <s> and its like.
class FolderOfPieces final : public Tokenizer {
 public:
  FolderOfPieces(const std::string& file, FolderSettings settings)
      : pieces_(file), size_(pieces_.size()), settings_(std::move(settings)) {
    if (settings_.added.empty()) {
      for (const char* token : {"<unk>", "<s>", "</s>"}) {
        const std::optional<int32_t> id = pieces_.find(token);
        if (id) settings_.added.push_back({.id = *id, .content = token, .special = true});
      }
    }
    for (const AddedToken& token : settings_.added) {
      size_ = std::max(size_, int64_t{token.id} + 1);
      ids_.emplace(token.content, token.id);
      texts_.emplace(token.id, token);
    }
    special_ = special_ids(*this, settings_);
    if (special_.begin < 0) special_.begin = pieces_.find("<s>").value_or(-1);
    if (special_.end < 0) special_.end = pieces_.end();
    added_.emplace(settings_.added, file);
  }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::optional<int32_t> find(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? pieces_.find(token) : std::optional(found->second);
  }
  // A space goes before each stretch between such tokens, as before the whole.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    std::string storage;
    std::vector<int32_t> ids;
    const std::string_view valid = valid_utf8(text, storage);
    added_->for_each_part(valid, [&](std::string_view part, std::optional<int32_t> id) {
      if (id) return ids.push_back(*id);
      const std::vector<int32_t> inside = pieces_.encode(part);
      ids.insert(ids.end(), inside.begin(), inside.end());
    });
    return ids;
  }
  [[nodiscard]] std::vector<int32_t> encode_whole(std::string_view text) const override {
    std::vector<int32_t> ids = encode(text);
    if (settings_.add_begin.value_or(true) && special_.begin >= 0) {
      ids.insert(ids.begin(), special_.begin);
    }
    if (settings_.add_end.value_or(false) && special_.end >= 0) ids.push_back(special_.end);
    return ids;
  }
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const override {
    return decoded(ids, false);
  }
  [[nodiscard]] std::string decode_shown(std::span<const int32_t> ids) const override {
    return decoded(ids, true);
  }
  [[nodiscard]] int32_t start() const override { return start_of(special_); }
  [[nodiscard]] SpecialIds special() const override { return special_; }

 private:
  [[nodiscard]] std::string decoded(std::span<const int32_t> ids, bool hide) const {
    std::string text;
    size_t done = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto token = texts_.find(ids[i]);
      if (token == texts_.end()) continue;
      text += pieces_.decode(ids.subspan(done, i - done));
      if (!(hide && token->second.special)) text += token->second.content;
      done = i + 1;
    }
    return text + pieces_.decode(ids.subspan(done));
  }

  Pieces pieces_;
  int64_t size_;
  FolderSettings settings_;
  SpecialIds special_;
  std::unordered_map<std::string, int32_t> ids_;   // of added tokens
  std::unordered_map<int32_t, AddedToken> texts_;  // likewise
  std::optional<AddedTokens> added_;
};

}  // namespace

std::string hub_tokenizer_file(const std::string& folder) {
  std::string json = file_in(folder, "tokenizer.json");
  std::string model = file_in(folder, "tokenizer.model");
  if (json.empty() && model.empty()) {
    fail_input(folder + " has no tokenizer: neither tokenizer.json nor tokenizer.model is there");
  }
  const bool use_model = json.empty() || (!model.empty() && has_precompiled_rules(json));
  return use_model ? model : json;
}

std::vector<std::string> files_of_tokenizer(const std::string& folder) {
  std::vector<std::string> files = {hub_tokenizer_file(folder)};
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "config.json", "chat_template.jinja"}) {
    std::string file = file_in(folder, name);
    if (!file.empty()) files.push_back(std::move(file));
  }
  return files;
}

std::unique_ptr<Tokenizer> open_hub_tokenizer(const std::string& folder) {
  const std::string file = hub_tokenizer_file(folder);
  FolderSettings settings = read_folder_settings(folder);
  if (file.ends_with(".json")) {
    TokenizerJson words = read_tokenizer_json(file);
    if (is_cut_as_llama(words, settings)) cut_as_llama(words, settings);
    take_added_tokens(words, settings);
    return std::make_unique<FolderOfWords>(std::move(words), settings);
  }
  if (settings.kind == "LlamaTokenizer") return llama_pieces(file, std::move(settings));
  if (settings.legacy == false) {
    fail_input(settings.path +
               ": \"legacy\" is false, which of a tokenizer.model alone is supported for the class "
               "LlamaTokenizer: save it with transformers, which writes tokenizer.json");
  }
  return std::make_unique<FolderOfPieces>(file, std::move(settings));
}

}  // namespace penstock
