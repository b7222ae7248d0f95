// runtime/data/tokenizer/hub/hub_tokenizer.h -- the tokenizer of a folder as Hugging Face has them:
// what its tokenizer.json gives, or where it has none tokenizer.model (SentencePiece), and the
// settings beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// Throws Error(Input) where the folder has neither file, or needs what is not supported;
// Error(Data) where a file is damaged; Error(Resource) where this build lacks a part.
[[nodiscard]] std::unique_ptr<Tokenizer> open_hub_tokenizer(const std::string& folder);

// Throws Error(Input) where the folder has more tokens than a network has rows in its embedding: it
// names the first one without, and what to do.
void check_rows(const std::string& folder, int64_t rows);

// The file that the ids depend on. Throws Error(Input) where there is none.
[[nodiscard]] std::string hub_tokenizer_file(const std::string& folder);

// All files that the folder's tokens depend on, special ones and chat templates included. Throws
// Error(Input) where there is no tokenizer.
[[nodiscard]] std::vector<std::string> files_of_tokenizer(const std::string& folder);

}  // namespace penstock
