// runtime/data/tokenizer/hub/folder_settings.h -- FolderSettings: what a folder (Hugging Face) says
// of its tokenizer beside the vocabulary, in tokenizer_config.json and chat_template.jinja, and in
// special_tokens_map.json and added_tokens.json where there is no "added_tokens_decoder".
//
// Keys of tokenizer_config.json count as they do for transformers 5: those that change ids are
// here, or refused by name; all others are not looked at (docs/hub.md#tokens).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/tokenizer/hub/folder_class.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"

namespace penstock {

struct FolderSettings {
  std::string path;  // of tokenizer_config.json, for messages; it need not be there
  // The texts of tokens; empty where neither the folder nor its class names one.
  std::string begin, end, padding;
  // Tokens that a key names, without ids: by keys of every folder ("eos_token"), by keys of this
  // one alone ("image_token"), and in lists. New ones get their ids in this order.
  std::vector<AddedToken> named, own, listed;
  // Tokens that the folder does not name and its class assumes, each with its key.
  std::vector<std::pair<std::string, AddedToken>> assumed;
  std::optional<bool> add_begin, add_end;  // "add_bos_token", "add_eos_token"
  // The tokens of "added_tokens_decoder", or else of added_tokens.json, by ascending id.
  std::vector<AddedToken> added;
  std::string added_path;   // the file that has `added`
  bool says_added = false;  // there is an "added_tokens_decoder"
  std::string kind;         // "tokenizer_class", without the "Fast" at its end; may be empty
  FolderClass opened = FolderClass::AsWritten;   // the class that opens tokenizer.json
  std::optional<bool> legacy, add_prefix_space;  // keys of these names
  bool split_special = false;  // "split_special_tokens": special tokens in a text are text
  std::string chat_template;   // empty: none
};

// Whether `content` is the text of a token that a key names.
[[nodiscard]] bool names_token(const FolderSettings& settings, const std::string& content);

// Reads the settings of a folder. Throws Error(Data) naming file and key where a file is damaged,
// Error(Input) for a key that would change ids and is not supported.
[[nodiscard]] FolderSettings read_folder_settings(const std::string& folder);

// The path of the folder's file `name`; empty where it has none.
[[nodiscard]] std::string file_in(const std::string& folder, const std::string& name);

}  // namespace penstock
