// runtime/data/tokenizer/hub/folder_words.h -- completes the vocabulary of a Hugging Face folder as
// transformers does: makes a TokenizerJson of a SentencePiece model where there is no
// tokenizer.json, and adds the tokens that other files of the folder name. Pure functions.
#pragma once

#include <string>

#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/pieces.h"

namespace penstock {

// The pieces of a SentencePiece model as a vocabulary of byte pair encoding. Its merges are all
// pairs of pieces whose texts make a third piece; those that make the piece of the lowest id come
// first. `path` becomes TokenizerJson::path.
[[nodiscard]] TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path);

// Adds to file.added the tokens of `settings`, and changes those that are there already as
// `settings` says; tokens that a key names become special. A token that is no word of the
// vocabulary gets the next free id, as in transformers. Returns, for a note, a list of the tokens
// that the class assumes and no file has, which are left out; empty: there are none. Throws
// Error(Data) naming file and token if a file says another id, and Error(Input) where transformers
// itself would leave a token out or could give several new tokens their ids in any order.
[[nodiscard]] std::string take_added_tokens(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
