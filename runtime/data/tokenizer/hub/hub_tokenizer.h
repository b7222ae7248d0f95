// runtime/data/tokenizer/hub/hub_tokenizer.h -- open_hub_tokenizer(): opens the tokenizer of a
// Hugging Face folder, from its tokenizer.json or its tokenizer.model (SentencePiece) and the
// settings beside it, so that it gives the ids that transformers 5 gives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// The folder's tokenizer. Throws Error(Input) if the folder has neither file or needs what is not
// supported; Error(Data) if a file is damaged; Error(Resource) if this program was built without
// the part for tokenizers (runtime/data/parts/part.h).
[[nodiscard]] std::unique_ptr<Tokenizer> open_hub_tokenizer(const std::string& folder);

// Checks that a network fits the folder: throws Error(Input), naming the first token without a row
// and what to do, if the tokenizer has more ids than the network's embedding has `rows`. Throws as
// open_hub_tokenizer() too.
void check_rows(const std::string& folder, int64_t rows);

// The path of the file that has the vocabulary and is used: tokenizer.json or tokenizer.model.
// Throws Error(Input) if there is neither.
[[nodiscard]] std::string hub_tokenizer_file(const std::string& folder);

// The paths of all files of the folder on which the tokens of a text or conversation depend. Throws
// Error(Input) if there is no tokenizer.
[[nodiscard]] std::vector<std::string> files_of_tokenizer(const std::string& folder);

}  // namespace penstock
