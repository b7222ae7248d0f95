// runtime/data/folder/folder_settings.h -- what a folder (Hugging Face) says of its tokenizer
// beside the vocabulary: tokenizer_config.json, chat_template.jinja, and where those are silent
// special_tokens_map.json.
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
  std::optional<bool> add_begin, add_end;  // "add_bos_token", "add_eos_token"
  std::vector<AddedToken> added;           // "added_tokens_decoder"
  std::string chat_template;               // empty: none
};

// Throws Error(Data) naming file and key where a file is damaged.
[[nodiscard]] FolderSettings read_folder_settings(const std::string& folder);

// The folder's file, or an empty text where it has none of that name.
[[nodiscard]] std::string file_in(const std::string& folder, const std::string& name);

}  // namespace penstock
