// runtime/data/tokens/token_cache.h -- keeps the tokens of a text in a file beside the run, so that
// the text is cut once and not by every rank of every attempt.
//
// The file's name is a hash of what it was made from: the bytes of the text, as they lie on disk,
// those of the vocabulary, and what a folder says of its tokenizer beside that; and of what made
// it: the versions of our rules (kCutVersion) and of the libraries that know letters. The file is
// complete or absent, by atomic replacement; ranks that find none may each write one, all the same.
// It is read once before it is used: where the checksum at its end is wrong it is made anew. Its
// tokens are then read by position and not mapped: a mapped file that shrinks, or whose server is
// gone, ends the process by SIGBUS, and reading a window costs a millionth of the step that it is
// for. The ranks of a host share the system's pages.
//
// The file begins as a token file "PSTOKENS" (token_source.h), which others can read; behind the
// tokens are u32 starts of lines, for the forms that have some, and "PSCACHE1", u64 key, u64 number
// of starts and u64 checksum of all before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/data/tokens/cut_text.h"
#include "runtime/data/tokens/token_source.h"

namespace penstock {

struct TextInPieces {
  std::shared_ptr<const TokenSource> tokens;
  std::vector<uint32_t> starts = {};  // of lines in `tokens`, and the end of the last; may be empty
  std::string note = {};  // why the tokens could not be kept, and where; empty: nothing went wrong
};

// The text at `path`, plain or compressed, in pieces of `vocabulary`, the file config.vocabulary.
// Opens what config.cache_folder keeps of it (empty: nothing); else cuts the text, and keeps the
// tokens where it has config.cache_least_bytes on disk or more; they stay in memory where that
// fails. Throws as text_file.h says, Error(Input) for lines of more than 2^32 pieces together, and
// Error(Data) where the text changes meanwhile.
[[nodiscard]] TextInPieces text_in_pieces(const std::string& path, const DataConfig& config,
                                          const Pieces& vocabulary, TextForm form);

// As text_in_pieces(), by the tokenizer of the folder config.vocabulary (TextForm::AsItIs); no
// special tokens are put around the text.
[[nodiscard]] TextInPieces text_by_tokenizer(const std::string& path, const DataConfig& config,
                                             const Tokenizer& tokenizer);

// As text_in_pieces() for samples, which `cut` makes of the lines by the folder's tokenizer and
// chat template: it calls keep(numbers) for one sample after the other, with numbers below twice
// the vocabulary or 4096, whichever is more. Throws what `cut` throws, and Error(Input) for 2^32
// numbers or more.
using KeepLine = std::function<void(const std::vector<int32_t>& numbers)>;
[[nodiscard]] TextInPieces samples_by_tokenizer(
    const std::string& path, const DataConfig& config, const Tokenizer& tokenizer,
    const std::function<void(const KeepLine& keep)>& cut);

}  // namespace penstock
