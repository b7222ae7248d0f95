// runtime/data/tokenizer/hub/folder_class.h -- which Python class of the library transformers
// (version 5) opens a folder's tokenizer, and what that class changes in its tokenizer.json.
//
// Some classes take the file as it stands. Others keep only its vocabulary, merges and added
// tokens, and cut texts in their own way, whatever the file says; to give the same ids, the same
// changes are made to the file's contents here. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/tokenizer/hub/tokenizer_json.h"

namespace penstock {

struct FolderSettings;

enum class FolderClass : uint8_t {
  AsWritten,  // any class that takes the file as it stands
  Gpt2,
  GptNeoX,
  Llama,
  Qwen2,
  Other,  // any class that cuts in a way of its own which is not supported
};

// The class that opens a folder. `kind`: "tokenizer_class" of tokenizer_config.json without the
// "Fast" at its end; `model_type`: that of config.json; both may be empty. `byte_level`: the text
// of tokenizer.json has "ByteLevel" in it.
[[nodiscard]] FolderClass opened_class(const std::string& kind, const std::string& model_type,
                                       bool byte_level);

// Whether transformers itself has the class `kind`, so that no program of the folder's own is
// needed.
[[nodiscard]] bool is_known_class(const std::string& kind);

// The special tokens that a class assumes if the folder names none: pairs of key and text, such as
// "eos_token" and "</s>". Here such a token counts only if the vocabulary has it. Transformers adds
// it to other vocabularies too, which makes a difference only for texts that contain it.
using DefaultTokens = std::vector<std::pair<const char*, const char*>>;
[[nodiscard]] DefaultTokens default_tokens(FolderClass of);

// Changes `file` as the class settings.opened does, and returns "": Llama changes how texts are cut
// (cut_as_llama); Gpt2, GptNeoX and Qwen2 put their own space in front and their own normalizer,
// and have the same rules as the file for the rest. Where their rules are others, and for Other,
// the file stays as it is, and the note for the user that is returned says so.
[[nodiscard]] std::string cut_as_class(TokenizerJson& file, const FolderSettings& settings);

// Changes `file` as the class LlamaTokenizer does: texts are not cut into words, spaces are written
// as U+2581, and unknown characters as bytes. A space is put before a text and, with
// settings.legacy, before each stretch between added tokens; not if settings.add_prefix_space is
// false.
void cut_as_llama(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
