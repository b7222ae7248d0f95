// runtime/data/tokenizer/hub/folder_settings.h -- FolderSettings: what a Hugging Face folder says
// of its tokenizer besides the vocabulary: special tokens, switches, the chat template.
//
// It is read from tokenizer_config.json and chat_template.jinja, and, for older folders whose
// tokenizer_config.json has no "added_tokens_decoder", from special_tokens_map.json and
// added_tokens.json. Keys count as they do for transformers 5: keys that change ids are here or are
// refused by name, all others are ignored (docs/hub.md#tokens). "Key" below is a key of
// tokenizer_config.json.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/tokenizer/hub/folder_class.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"

namespace penstock {

struct FolderSettings {
  std::string path;  // of tokenizer_config.json, for messages; the file need not be there
  // The texts of the special tokens that begin a text, end a text and fill rows; empty where
  // neither the folder nor its class names one.
  std::string begin, end, padding;
  // Tokens that keys name by their texts, without ids: keys that every folder may have
  // ("eos_token"), keys that only this folder has ("image_token"), and keys with a list. Those that
  // no vocabulary has get new ids in this order.
  std::vector<AddedToken> named, own, listed;
  // Tokens that the folder does not name and its class assumes (default_tokens()), each with its
  // key.
  std::vector<std::pair<std::string, AddedToken>> assumed;
  std::optional<bool> add_begin, add_end;  // "add_bos_token", "add_eos_token"; nullopt: not there
  // The tokens, with ids, of "added_tokens_decoder" or else of added_tokens.json, by ascending id.
  std::vector<AddedToken> added;
  std::string added_path;   // the file that has `added`, for messages
  bool says_added = false;  // there is an "added_tokens_decoder"
  std::string kind;         // "tokenizer_class" without the "Fast" at its end; may be empty
  FolderClass opened = FolderClass::AsWritten;   // the class that opens tokenizer.json
  std::optional<bool> legacy, add_prefix_space;  // the keys of these names; nullopt: not there
  bool split_special = false;  // "split_special_tokens": special tokens in a text are cut as text
  std::string chat_template;   // the source of the template; empty: there is none
};

// Whether `content` is the text of a token in `named`, `own` or `listed`.
[[nodiscard]] bool names_token(const FolderSettings& settings, const std::string& content);

// Reads the settings of a folder. Throws Error(Data) naming file and key where a file is damaged,
// Error(Input) for a key that would change ids and is not supported.
[[nodiscard]] FolderSettings read_folder_settings(const std::string& folder);

// The path of the file called `name` in the folder; empty if there is none.
[[nodiscard]] std::string file_in(const std::string& folder, const std::string& name);

}  // namespace penstock
