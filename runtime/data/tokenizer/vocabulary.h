// runtime/data/tokenizer/vocabulary.h -- the vocabulary of word pieces that a run needs: the one it
// names, or one trained on its training text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/config.h"

namespace penstock {

inline constexpr const char* kLinePiece = "<line>";  // of `text`: the end of a line

[[nodiscard]] bool uses_pieces(const DataConfig& config);
// Whether tokens are those of a folder (hub/hub_tokenizer.h), which data.vocabulary names.
[[nodiscard]] bool uses_folder(const DataConfig& config);
// Rows hold several samples, which a network must keep apart (the batch field "starts").
[[nodiscard]] bool packs_rows(const DataConfig& config);
// Samples are rows of tokens: throughput counts them.
[[nodiscard]] bool reads_tokens(const DataConfig& config);

// The file of data.vocabulary, or where that is empty one in `folder`, trained when it is not there
// yet: its name tells the text and the settings that it was made from. To be called by one rank;
// the others are told. Throws Error(Input) about the data, Error(Resource) about the folder.
[[nodiscard]] std::string provide_vocabulary(const DataConfig& config, const std::string& folder);

// The tokens that a network must be made for, as far as the configuration tells; 0: it does not.
// Reads the file of data.vocabulary, and no data.
[[nodiscard]] int64_t known_vocabulary(const DataConfig& config);

}  // namespace penstock
