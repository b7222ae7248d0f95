// runtime/data/tokenizer/hub/folder_words.h -- a tokenizer.json, or a SentencePiece model as one,
// with what the other files of its folder change: as transformers loads it. Pure.
#pragma once

#include <string>

#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/pieces.h"

namespace penstock {

// The pieces of a SentencePiece model as byte pairs: what gives the piece with the lower id is
// merged first.
[[nodiscard]] TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path);

// Adds to `file` the tokens that the folder's other files name, and what they say of tokens that it
// has; tokens that have names are special. A token that is no word of the vocabulary gets the next
// id, as transformers gives it. Throws Error(Data) naming the file and the token where a file says
// another id, and Error(Input) where it depends on the class whether there is such a token. Returns
// the tokens that the class assumes and that are left out, as no file has them; empty: there are
// none.
[[nodiscard]] std::string take_added_tokens(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
