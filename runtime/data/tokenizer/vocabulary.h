// runtime/data/tokenizer/vocabulary.h -- how [data] makes tokens of text; and the file of word
// pieces that a run needs: the one it names, or one trained on its training text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/config.h"

namespace penstock {

inline constexpr const char* kLinePiece = "<line>";  // data.kind = "text": ends a line

// Whether tokens are word pieces (SentencePiece).
[[nodiscard]] bool uses_pieces(const DataConfig& config);
// Whether the tokenizer is that of the Hugging Face folder data.vocabulary.
[[nodiscard]] bool uses_folder(const DataConfig& config);
// Whether rows hold several samples, which a network must keep apart (the batch field "starts").
[[nodiscard]] bool packs_rows(const DataConfig& config);
// Whether samples are rows of tokens, so that throughput is told in tokens as well.
[[nodiscard]] bool reads_tokens(const DataConfig& config);

// The path of the file of word pieces: data.vocabulary, or where that is empty one in `folder`,
// which is trained when it is not there yet (its name tells text and settings by a hash). Called by
// one rank, which tells the others. Throws Error(Input) about the data, Error(Resource) about the
// folder.
[[nodiscard]] std::string provide_vocabulary(const DataConfig& config, const std::string& folder);

// How many tokens a network must be made for; 0: the configuration does not tell. Reads the file or
// folder data.vocabulary, and no data.
[[nodiscard]] int64_t known_vocabulary(const DataConfig& config);

}  // namespace penstock
