// runtime/data/tokenizer/hub/folder_settings.h -- what a folder (Hugging Face) says of its
// tokenizer beside the vocabulary: tokenizer_config.json, chat_template.jinja, and where the former
// has no "added_tokens_decoder" special_tokens_map.json and added_tokens.json.
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
  // Tokens that have a name, without ids, in the order in which those that are new get theirs:
  // those of every folder, those of this one alone ("image_token"), and those in lists.
  std::vector<AddedToken> named, own, listed;
  // Tokens that the class assumes, since the folder does not name them, each with its key.
  std::vector<std::pair<std::string, AddedToken>> assumed;
  std::optional<bool> add_begin, add_end;  // "add_bos_token", "add_eos_token"
  // "added_tokens_decoder", or what added_tokens.json has; in the order of their ids.
  std::vector<AddedToken> added;
  std::string added_path;   // the file that has them
  bool says_added = false;  // there is an "added_tokens_decoder"
  std::string kind;         // "tokenizer_class", without the "Fast" at its end; may be empty
  FolderClass opened = FolderClass::AsWritten;  // of tokenizer.json
  std::optional<bool> legacy, add_prefix_space;
  bool split_special = false;  // "split_special_tokens": special tokens in a text are text
  std::string chat_template;   // empty: none
};

// Whether one of the tokens that have a name is this text.
[[nodiscard]] bool names_token(const FolderSettings& settings, const std::string& content);

// Throws Error(Data) naming file and key where a file is damaged, and Error(Input) for a key that
// would change ids and is not supported.
[[nodiscard]] FolderSettings read_folder_settings(const std::string& folder);

// The folder's file, or an empty text where it has none of that name.
[[nodiscard]] std::string file_in(const std::string& folder, const std::string& name);

}  // namespace penstock
