// runtime/data/tokenizer/vocabulary.h -- tells from the [data] section what the tokens of a run
// are, and provides the file of word pieces that a run needs: the one that the section names, or
// one that is trained on the run's training text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/config.h"

namespace penstock {

inline constexpr const char* kLinePiece = "<line>";  // the piece for a line end, data.kind = "text"

// Whether tokens are word pieces (SentencePiece).
[[nodiscard]] bool uses_pieces(const DataConfig& config);
// Whether the tokenizer is that of the Hugging Face folder data.vocabulary.
[[nodiscard]] bool uses_folder(const DataConfig& config);
// Whether a row holds several samples, which the network must keep apart; the data then have the
// field "starts".
[[nodiscard]] bool packs_rows(const DataConfig& config);
// Whether samples are rows of tokens, so that throughput can be given in tokens per second.
[[nodiscard]] bool reads_tokens(const DataConfig& config);

// Called if uses_pieces(): returns the path of the file of word pieces, data.vocabulary. If that is
// empty, it is a file in `folder` whose name has a hash of the text and settings, and which is
// trained now if it is not there yet. One rank calls it and tells the others the path. Throws
// Error(Input) for what is wrong with the data, Error(Resource) if the folder cannot be written.
[[nodiscard]] std::string provide_vocabulary(const DataConfig& config, const std::string& folder);

// The number of token ids for which a network must be made, as far as the section tells without
// reading the training data (it may read the file or folder data.vocabulary); 0: it does not tell.
[[nodiscard]] int64_t known_vocabulary(const DataConfig& config);

}  // namespace penstock
