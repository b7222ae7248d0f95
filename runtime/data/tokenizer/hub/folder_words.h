// runtime/data/tokenizer/hub/folder_words.h -- completes the vocabulary of a folder as transformers
// does: takes a SentencePiece model for a tokenizer.json, and adds the tokens that other files of
// the folder name. Pure.
#pragma once

#include <string>

#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/pieces.h"

namespace penstock {

// The pieces of a SentencePiece model as byte pairs: the merge that gives the piece of the lowest
// id comes first.
[[nodiscard]] TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path);

// Adds to `file` the tokens that the folder's other files name, and what they say of tokens that
// `file` has; tokens that a key names are special. A token that is no word of the vocabulary gets
// the next id, as in transformers. Throws Error(Data) naming file and token where a file says
// another id, and Error(Input) where it depends on the class whether there is such a token. Returns
// a list of the tokens that the class assumes and no file has, which are left out; empty: none.
[[nodiscard]] std::string take_added_tokens(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
