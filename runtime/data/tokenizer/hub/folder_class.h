// runtime/data/tokenizer/hub/folder_class.h -- which class transformers 5 opens a tokenizer.json
// with, and what that class makes of it: some take the file as it stands, some keep no more of it
// than words, merges and added tokens, and cut texts in their own way. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/tokenizer/hub/tokenizer_json.h"

namespace penstock {

struct FolderSettings;

enum class FolderClass : uint8_t {
  AsWritten,  // the file as it stands
  Gpt2,
  GptNeoX,
  Llama,
  Qwen2,
  Other,  // cuts in its own way, which is not supported
};

// `kind`: "tokenizer_class" without the "Fast" at its end; `model_type`: of config.json; both may
// be empty. `byte_level`: the text of tokenizer.json has "ByteLevel" in it.
[[nodiscard]] FolderClass opened_class(const std::string& kind, const std::string& model_type,
                                       bool byte_level);

// Whether transformers has a class of that name, so that it does without code of the folder's own.
[[nodiscard]] bool is_known_class(const std::string& kind);

// The tokens that the class takes where the folder names none: key and text, such as "eos_token"
// and "</s>". Such a token counts only where the vocabulary has it; where it has not, transformers
// adds it, for texts that happen to contain it.
using DefaultTokens = std::vector<std::pair<const char*, const char*>>;
[[nodiscard]] DefaultTokens default_tokens(FolderClass of);

// Changes the file as its class does. Where the class would cut by other rules than the file has,
// not counting a space in front and the normalizer, the file is left as it is; the note that is
// returned says so, and is empty otherwise.
[[nodiscard]] std::string cut_as_class(TokenizerJson& file, const FolderSettings& settings);

// The class LlamaTokenizer: a space before a text and, if `legacy`, before each stretch between
// added tokens, unless `add_prefix_space` is false; spaces are part of the word behind them; what
// is unknown is bytes.
void cut_as_llama(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
