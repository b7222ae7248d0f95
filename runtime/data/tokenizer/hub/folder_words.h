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

// The tokens that other files add to those of the tokenizer, or say more of; those that have names
// are special. A token that is no word gets the next id, as transformers gives it. Throws
// Error(Data) naming the file and the token where another id is said, and Error(Input) where it
// hangs on the class whether there is such a token. Returns those that the class assumes and that
// are left out, as nobody has them; empty: there is none.
[[nodiscard]] std::string take_added_tokens(TokenizerJson& file, const FolderSettings& settings);

}  // namespace penstock
