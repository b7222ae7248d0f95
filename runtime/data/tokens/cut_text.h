// runtime/data/tokens/cut_text.h -- cuts a whole text file into tokens, in memory, by
// config.cut_threads threads; tokens and errors are the same for every number of threads.
//
// token_cache.h calls it where the tokens of a text are not kept yet. A token is a word piece of a
// SentencePiece vocabulary (Pieces), or of the tokenizer of a Hugging Face folder (Tokenizer).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/data/tokens/packed_tokens.h"

namespace penstock {

// The version of the rules by which texts become tokens, those of runtime/data/tokenizer/,
// runtime/data/datasets/tuning/ and this file. Raise it with every change that may give a text
// other tokens: tokens that token_cache.h has kept are then not used, and the text is cut anew.
inline constexpr uint64_t kCutVersion = 2;

// How a file is cut, and for which data.kind:
//   Row      by word pieces, line by line; the piece <line> ends each line, if the vocabulary has
//            it ("text")
//   Lines    by word pieces, line by line, and it is kept where each line begins ("parallel")
//   AsItIs   by the tokenizer of a folder, without regard to lines ("text")
//   Samples  by a function of the caller, one sample for each line ("jsonl")
enum class TextForm : uint8_t { Row, Lines, AsItIs, Samples };

struct CutText {
  PackedTokens tokens;  // of all lines, end to end
  // Lines and Samples: the index in `tokens` at which each line begins, then tokens.size(). Row and
  // AsItIs: empty.
  std::vector<uint32_t> starts = {};
  // Bytes that are no UTF-8, in whose place U+FFFD was cut; and whether the text begins with a byte
  // order mark, which was cut as a character. Samples: 0 and false.
  int64_t not_utf8 = 0;
  bool marked = false;
};

// Ends a line behind the tokens so far: appends their number to `starts`. Throws Error(Input)
// naming `path` and `remedy`, what the user can do, if there are 2^32 tokens or more.
void end_line(CutText& text, const std::string& path, const std::string& remedy);

// The file in word pieces; `form` is Row or Lines. Throws Error(Input) if there is no readable file
// or it has 2^32 pieces or more, Error(Data) if it is damaged (read_pieces_of_file() in
// text_file.h).
[[nodiscard]] CutText cut_lines(const std::string& path, const DataConfig& config,
                                const Pieces& vocabulary, TextForm form);
// The file by the tokenizer of a folder (AsItIs): the ids of tokenizer.encode() of the whole text.
// Throws Error(Input) if there is no readable file, and for a text of more than 256 MiB in a row
// without a line end at which it can be parted for the threads; Error(Data) if the file is damaged.
[[nodiscard]] CutText cut_as_it_is(const std::string& path, const DataConfig& config,
                                   const Tokenizer& tokenizer);

}  // namespace penstock
