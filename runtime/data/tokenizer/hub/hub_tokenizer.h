// runtime/data/tokenizer/hub/hub_tokenizer.h -- opens the tokenizer of a Hugging Face folder: its
// tokenizer.json, or, without one, its tokenizer.model (SentencePiece), with the settings beside
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// The folder's tokenizer. Throws Error(Input) where the folder has neither file, or needs what is
// not supported; Error(Data) where a file is damaged; Error(Resource) where this build lacks a
// part.
[[nodiscard]] std::unique_ptr<Tokenizer> open_hub_tokenizer(const std::string& folder);

// Throws Error(Input), naming the first token without a row and what to do, where the folder has
// more tokens than a network has rows in its embedding.
void check_rows(const std::string& folder, int64_t rows);

// The path of the file that has the vocabulary: tokenizer.json or tokenizer.model. Throws
// Error(Input) where there is none.
[[nodiscard]] std::string hub_tokenizer_file(const std::string& folder);

// The paths of all files that the folder's tokens depend on, special tokens and chat templates too.
// Throws Error(Input) where there is no tokenizer.
[[nodiscard]] std::vector<std::string> files_of_tokenizer(const std::string& folder);

}  // namespace penstock
