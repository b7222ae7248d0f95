// runtime/data/folder/folder_words.h -- a tokenizer.json, or a SentencePiece model as one, with
// what the other files of its folder change: as transformers loads it. Pure.
#pragma once

#include <string>

#include "runtime/data/folder/folder_settings.h"
#include "runtime/data/text/pieces.h"
#include "runtime/data/words/tokenizer_json.h"

namespace penstock {

// Whether transformers gives the vocabulary Llama's own way to cut texts, whatever the file says:
// that is so for the class LlamaTokenizer, unless the vocabulary is byte-level or the network is a
// Mistral.
[[nodiscard]] bool is_cut_as_llama(const TokenizerJson& file, const FolderSettings& settings);
// A space before a text and, if `legacy`, before each stretch between added tokens, unless
// `add_prefix_space` is false; spaces are part of the word behind them; what is unknown is bytes.
void cut_as_llama(TokenizerJson& file, const FolderSettings& settings);

// The pieces of a SentencePiece model as byte pairs: what gives the piece with the lower id is
// merged first.
[[nodiscard]] TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path);

// The tokens that other files add to those of tokenizer.json, or say more of; those that have names
// are special.
void take_added_tokens(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
