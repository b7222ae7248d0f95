#include "runtime/data/tokenizer/hub/folder_words.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

struct Split {
  int32_t merged;
  size_t characters;  // characters of the left part
  std::string left, right;
};

// Adds to `splits` every way to put a piece together from two other pieces.
void add_splits(const std::string& piece, int32_t id,
                const std::unordered_map<std::string, int32_t>& ids, std::vector<Split>& splits) {
  size_t characters = 0;
  for (size_t at = 0; at < piece.size();) {
    at += utf8_at(piece, at).bytes;
    ++characters;
    const std::string left = piece.substr(0, at), right = piece.substr(std::min(at, piece.size()));
    if (ids.contains(left) && ids.contains(right)) splits.push_back({id, characters, left, right});
  }
}

// Adds the tokens that the other files of a folder name (FolderSettings) to those of its
// tokenizer.json.
class AddingTokens {
 public:
  AddingTokens(TokenizerJson& file, const FolderSettings& settings)
      : file_(file),
        settings_(settings),
        words_(file.model.vocabulary.begin(), file.model.vocabulary.end()),
        next_(static_cast<int32_t>(file.model.vocabulary.size())) {
    for (const AddedToken& token : file.added) next_ = std::max(next_, token.id + 1);
  }

  // Adds a token that comes with its id. Refuses the token if tokenizer.json gives or would give it
  // another id.
  void take(const AddedToken& token) {
    const auto found = find(token.content);
    const bool is_there = found != file_.added.end();
    const int32_t id = is_there ? found->id : id_for(token.content);
    if (id != token.id) {
      fail_data(settings_.added_path + ": the added token " + penstock::quoted(token.content) +
                " has the id " + std::to_string(token.id) +
                ", and by what tokenizer.json has it is " + std::to_string(id) +
                ": load and save the folder with transformers 5");
    }
    if (is_there) {
      *found = token;
    } else {
      add(token);
    }
  }
  // Adds a token that the class assumes. Returns false if neither a token nor a word has this text.
  bool take_assumed(const AddedToken& token) {
    const bool exists = find(token.content) != file_.added.end() || words_.contains(token.content);
    if (exists) (void)take_named(token);
    return exists;
  }
  // Adds a token that the folder names without an id. Returns whether both the vocabulary and the
  // file lacked it.
  bool take_named(AddedToken token) {
    if (const auto found = find(token.content); found != file_.added.end()) {
      found->special = true;
      return false;
    }
    token.id = id_for(token.content);
    const bool is_new = token.id == next_;
    add(std::move(token));
    return is_new;
  }

 private:
  std::vector<AddedToken>::iterator find(const std::string& content) {
    return std::ranges::find(file_.added, content, &AddedToken::content);
  }
  [[nodiscard]] int32_t id_for(const std::string& content) const {
    const auto word = words_.find(content);
    return word == words_.end() ? next_ : word->second;
  }
  void add(AddedToken token) {
    next_ = std::max(next_, token.id + 1);
    file_.added.push_back(std::move(token));
  }

  TokenizerJson& file_;
  const FolderSettings& settings_;
  std::unordered_map<std::string, int32_t> words_;
  int32_t next_;
};

// Refuses a folder that would lose added tokens. If tokenizer_config.json lists some added tokens,
// a class that builds its tokenizer anew takes none from tokenizer.json.
void refuse_missing(const TokenizerJson& file, const FolderSettings& settings) {
  for (const AddedToken& token : file.added) {
    const std::string& text = token.content;
    const bool said =
        std::ranges::find(settings.added, text, &AddedToken::content) != settings.added.end();
    if (said || names_token(settings, text)) continue;
    fail_input(settings.path + ": \"added_tokens_decoder\" lacks the added token " +
               penstock::quoted(text) + " of tokenizer.json, which transformers 5 then does not " +
               "have: put it in, or write \"tokenizer_class\": \"PreTrainedTokenizerFast\"");
  }
}

}  // namespace

TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path) {
  TokenizerJson file;
  file.path = path;
  std::unordered_map<std::string, int32_t> ids;
  for (int32_t id = 0; id < pieces.size(); ++id) {
    const VocabularyPiece piece = pieces.at(id);
    ids.emplace(piece.text, id);
    file.model.vocabulary.emplace_back(piece.text, id);
    if (piece.control || piece.user_defined) {
      file.added.push_back({.id = id, .content = piece.text, .special = piece.control});
    }
  }
  std::vector<Split> splits;
  for (const auto& [text, id] : file.model.vocabulary) add_splits(text, id, ids, splits);
  std::ranges::stable_sort(splits, [](const Split& a, const Split& b) {
    return std::pair(a.merged, a.characters) < std::pair(b.merged, b.characters);
  });
  for (Split& split : splits) {
    file.model.merges.emplace_back(std::move(split.left), std::move(split.right));
  }
  return file;
}

std::string take_added_tokens(TokenizerJson& file, const FolderSettings& settings) {
  const bool as_written =
      settings.opened == FolderClass::AsWritten || settings.opened == FolderClass::Other;
  if (settings.says_added && !as_written) refuse_missing(file, settings);
  AddingTokens adding(file, settings);
  for (const AddedToken& token : settings.added) adding.take(token);
  for (const AddedToken& token : settings.named) (void)adding.take_named(token);
  // Only one of these tokens may be new. Several new tokens would get ids in their order in the
  // file, and JSON keeps no order of keys.
  int new_ones = 0;
  for (const AddedToken& token : settings.own) new_ones += adding.take_named(token) ? 1 : 0;
  if (new_ones > 1) {
    fail_input(settings.path + ": several tokens with names of their own, " +
               penstock::quoted(settings.own.front().content) +
               " is one, are in no vocabulary: give their ids in \"added_tokens_decoder\"");
  }
  for (const AddedToken& token : settings.listed) (void)adding.take_named(token);
  std::string left_out;
  for (const auto& [key, token] : settings.assumed) {
    if (adding.take_assumed(token)) continue;
    left_out += (left_out.empty() ? "" : ", ") + key + " " + penstock::quoted(token.content);
  }
  return left_out;
}

}  // namespace penstock
