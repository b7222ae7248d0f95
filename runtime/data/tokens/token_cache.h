// runtime/data/tokens/token_cache.h -- a text in word pieces, kept in a file beside the run, so
// that it is cut into pieces once and not by every rank of every attempt.
//
// A file is named by what it was made from: the bytes of the text, as they lie on disk, and those
// of the vocabulary, with what a folder says of its tokenizer beside it; and by what made it, the
// version of our rules (kCutVersion) and of the libraries that know letters. It is complete or
// absent, by atomic replacement (several ranks that find none may each write one: they write the
// same, and the last one stays), and is read once before it is used: a checksum at its end tells a
// damaged one, which is made anew. Its tokens are then read by position and not mapped: a mapped
// file that shrinks, or whose server is gone, ends the process by SIGBUS, and reading a window
// costs a millionth of the step that it is for. The ranks of a host share the system's pages.
//
// The file begins as a token file of ours (token_source.h), which others can read; behind the
// tokens are u32 starts of lines, where they are wanted, and "PSCACHE1", u64 key, u64 number of
// starts and u64 sum of all before.
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
  std::vector<uint32_t> starts = {};  // of lines, and the end of the last; a row has none
  std::string note = {};              // says where it should be kept and cannot be; else empty
};

// The text at `path`, plain or compressed, in pieces of config.vocabulary, which is `vocabulary`:
// from the folder config.cache_folder where it is kept there (empty: nowhere), else cut, and kept
// if it is of config.cache_least_bytes on disk or more. Where that fails it stays in memory. Throws
// as text_file.h says, Error(Input) for lines of more than 2^32 pieces together, and Error(Data)
// where the text changes meanwhile.
[[nodiscard]] TextInPieces text_in_pieces(const std::string& path, const DataConfig& config,
                                          const Pieces& vocabulary, TextForm form);

// The same by the tokenizer of the folder config.vocabulary. No tokens are put around it.
[[nodiscard]] TextInPieces text_by_tokenizer(const std::string& path, const DataConfig& config,
                                             const Tokenizer& tokenizer);

// Lines that somebody else makes samples of, by that tokenizer and the chat template beside it:
// `cut` gives `keep` the numbers of one after the other, each below twice the vocabulary. Throws
// what it throws, and Error(Input) for 2^32 numbers or more.
using KeepLine = std::function<void(const std::vector<int32_t>& numbers)>;
[[nodiscard]] TextInPieces samples_by_tokenizer(
    const std::string& path, const DataConfig& config, const Tokenizer& tokenizer,
    const std::function<void(const KeepLine& keep)>& cut);

}  // namespace penstock
