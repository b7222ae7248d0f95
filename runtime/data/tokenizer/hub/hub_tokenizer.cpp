#include "runtime/data/tokenizer/hub/hub_tokenizer.h"

#include <filesystem>
#include <unordered_map>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/hub/folder_class.h"
#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/folder_words.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/data/tokenizer/word_tokenizer.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Returns the ids of special tokens, with -1 for a token that does not exist. All tokens that a
// folder names are among its words by now. Only a token that the folder's class assumes can be
// missing.
SpecialIds special_ids(const WordTokenizer& words, const FolderSettings& settings) {
  return {.begin = words.find(settings.begin).value_or(-1),
          .end = words.find(settings.end).value_or(-1),
          .padding = words.find(settings.padding).value_or(-1)};
}

int32_t start_of(const SpecialIds& special) {
  if (special.begin >= 0) return special.begin;
  return special.end >= 0 ? special.end : 0;
}

class FolderOfWords final : public Tokenizer {
 public:
  FolderOfWords(TokenizerJson file, const FolderSettings& settings, std::string note)
      : words_(std::move(file)), special_(special_ids(words_, settings)), note_(std::move(note)) {}
  [[nodiscard]] int64_t size() const override { return words_.size(); }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    return words_.encode(text);
  }
  [[nodiscard]] std::vector<int32_t> encode_part(std::string_view part,
                                                 PartOfText place) const override {
    return words_.encode_part(part, place);
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
  [[nodiscard]] std::string note() const override { return note_; }

 private:
  WordTokenizer words_;
  SpecialIds special_;
  std::string note_;
};

std::unique_ptr<Tokenizer> folder_of_words(TokenizerJson file, const FolderSettings& settings,
                                           std::string note) {
  const auto add = [&](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  if (const std::string missing = take_added_tokens(file, settings); !missing.empty()) {
    add(settings.path + " does not name " + missing +
        ": transformers 5 adds that to the vocabulary for the folder's class, and here it is not "
        "added; name the token that you mean, or null");
  }
  file.split_special = settings.split_special;
  if (settings.split_special) {
    add(settings.path +
        " has \"split_special_tokens\": true, so special tokens in texts, and those that a chat "
        "template writes, are cut like all other text");
  }
  return std::make_unique<FolderOfWords>(std::move(file), settings, std::move(note));
}

// Opens a SentencePiece model of the class LlamaTokenizer in a folder without a tokenizer.json. The
// ids of a text begin with <s> unless the folder says otherwise. (With a tokenizer.json, that file
// alone would decide what is put around a text.)
std::unique_ptr<Tokenizer> llama_pieces(const std::string& model, FolderSettings settings) {
  const Pieces pieces(model);
  if (settings.begin.empty()) settings.begin = "<s>";
  if (settings.end.empty()) settings.end = "</s>";
  TokenizerJson file = byte_pairs_of(pieces, model);
  cut_as_llama(file, settings);
  const std::optional<int32_t> begin = pieces.find(settings.begin), end = pieces.find(settings.end);
  if (begin && settings.add_begin.value_or(true)) file.begin = {*begin};
  if (end && settings.add_end.value_or(false)) file.end = {*end};
  return folder_of_words(std::move(file), settings, "");
}

// Cuts texts into pieces, and finds tokens in them, such as <s>, that the folder adds to the
// pieces.
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
    special_ = {.begin = named_id(settings_.begin),
                .end = named_id(settings_.end),
                .padding = named_id(settings_.padding)};
    if (special_.begin < 0) special_.begin = pieces_.find("<s>").value_or(-1);
    if (special_.end < 0) special_.end = pieces_.end();
    added_.emplace(settings_.added, file);
  }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::optional<int32_t> find(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? pieces_.find(token) : std::optional(found->second);
  }
  // Encodes the stretches of text between added tokens. A space goes before each stretch, as before
  // a whole text.
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
  // Returns the id of a token that the folder names, or -1 if `token` is empty. Throws if the
  // vocabulary lacks the token.
  [[nodiscard]] int32_t named_id(const std::string& token) const {
    if (token.empty()) return -1;
    if (const std::optional<int32_t> id = find(token)) return *id;
    fail_data(settings_.path + ": the vocabulary has no token " + penstock::quoted(token) +
              ": name one that it has, or save the folder with transformers, which writes "
              "tokenizer.json");
  }
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
  std::unordered_map<std::string, int32_t> ids_;   // ids of added tokens
  std::unordered_map<int32_t, AddedToken> texts_;  // added tokens by their ids
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
    std::string note = cut_as_class(words, settings);
    return folder_of_words(std::move(words), settings, std::move(note));
  }
  if (settings.kind == "LlamaTokenizer") return llama_pieces(file, std::move(settings));
  if (settings.legacy == false) {
    fail_input(settings.path +
               ": \"legacy\" is false, which of a tokenizer.model alone is supported for the class "
               "LlamaTokenizer: save it with transformers, which writes tokenizer.json");
  }
  if (settings.split_special) {
    fail_input(
        settings.path +
        ": \"split_special_tokens\" is true, which of a tokenizer.model alone is not supported: "
        "save it with transformers, which writes tokenizer.json");
  }
  return std::make_unique<FolderOfPieces>(file, std::move(settings));
}

void check_rows(const std::string& folder, int64_t rows) {
  const std::unique_ptr<Tokenizer> tokenizer = open_hub_tokenizer(folder);
  if (tokenizer->size() <= rows) return;
  const auto first = static_cast<int32_t>(rows);
  fail_input("the tokenizer of " + folder + " has " + std::to_string(tokenizer->size()) +
             " tokens, and the network is made for model.vocabulary = " + std::to_string(rows) +
             ": its embedding has no row for " + penstock::quoted(tokenizer->decode({&first, 1})) +
             ", id " + std::to_string(rows) +
             ". Give the folder that belongs to the network; if this one does, take out of it what "
             "adds the token (eos_token, pad_token and the like in tokenizer_config.json and "
             "special_tokens_map.json, or added_tokens.json), or name one that the vocabulary has");
}

}  // namespace penstock
