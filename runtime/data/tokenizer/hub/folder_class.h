// runtime/data/tokenizer/hub/folder_class.h -- the class by which transformers 5 opens a
// tokenizer.json, and what the class changes in it: some take the file as it stands, others keep
// only its words, merges and added tokens, and cut texts in their own way. Pure.
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

// The class that opens a folder. `kind`: "tokenizer_class" without the "Fast" at its end;
// `model_type`: of config.json; both may be empty. `byte_level`: the text of tokenizer.json has
// "ByteLevel" in it.
[[nodiscard]] FolderClass opened_class(const std::string& kind, const std::string& model_type,
                                       bool byte_level);

// Whether transformers itself has a class of that name, and needs no code of the folder's own.
[[nodiscard]] bool is_known_class(const std::string& kind);

// The tokens that a class assumes where the folder names none: key and text, such as "eos_token"
// and "</s>". Such a token counts here only where the vocabulary has it; transformers adds it to
// other vocabularies, too, where it matters only to texts that happen to contain it.
using DefaultTokens = std::vector<std::pair<const char*, const char*>>;
[[nodiscard]] DefaultTokens default_tokens(FolderClass of);

// Changes `file` as its class does. Leaves it as it is where the class would cut by other rules
// than the file has, a space in front and the normalizer not counted, and returns a note that says
// so; else returns "".
[[nodiscard]] std::string cut_as_class(TokenizerJson& file, const FolderSettings& settings);

// Changes `file` as the class LlamaTokenizer does: it puts a space before a text and, if `legacy`,
// before each stretch between added tokens, unless `add_prefix_space` is false; makes spaces part
// of the word behind them; and writes unknown characters as bytes.
void cut_as_llama(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
