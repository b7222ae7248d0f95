// runtime/data/folder/folder_settings.h -- what a folder (Hugging Face) says of its tokenizer
// beside the vocabulary: tokenizer_config.json, chat_template.jinja, and where those are silent
// special_tokens_map.json and added_tokens.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/words/tokenizer_json.h"

namespace penstock {

struct FolderSettings {
  std::string path;  // of tokenizer_config.json, for messages; it need not be there
  // The texts of tokens; empty where the folder names none.
  std::string begin, end, padding;
  std::vector<AddedToken> named;           // those and all others that are named; without ids
  std::optional<bool> add_begin, add_end;  // "add_bos_token", "add_eos_token"
  // "added_tokens_decoder", or what added_tokens.json has; in the order of their ids.
  std::vector<AddedToken> added;
  std::string kind;        // "tokenizer_class", without the "Fast" at its end; may be empty
  std::string model_type;  // of config.json; empty where there is none
  std::optional<bool> legacy, add_prefix_space;
  std::string chat_template;  // empty: none
};

// Throws Error(Data) naming file and key where a file is damaged.
[[nodiscard]] FolderSettings read_folder_settings(const std::string& folder);

// The folder's file, or an empty text where it has none of that name.
[[nodiscard]] std::string file_in(const std::string& folder, const std::string& name);

}  // namespace penstock
