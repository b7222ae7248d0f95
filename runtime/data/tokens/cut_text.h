// runtime/data/tokens/cut_text.h -- a text file as tokens in memory, cut by config.cut_threads
// threads: the same tokens, and the same errors, for every number of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/data/tokens/packed_tokens.h"

namespace penstock {

// The version of all rules by which texts become tokens: those of tokenizer/, datasets/tuning/ and
// this file. Raise it whenever a change may give a text other tokens: what token_cache.h has kept
// is then cut anew.
inline constexpr uint64_t kCutVersion = 1;

// The form in which the tokens of a file are kept. Row: end to end, with the piece <line> at the
// end of each line (data.kind = "text"); Lines: each line apart (parallel text); AsItIs: the text
// as it is, by the tokenizer of a folder; Samples: a sample for each line (data.kind = "jsonl").
enum class TextForm : uint8_t { Row, Lines, AsItIs, Samples };

struct CutText {
  PackedTokens tokens;
  std::vector<uint32_t> starts = {};  // of lines, and the end of the last; none for Row and AsItIs
};

// Ends a line behind the tokens so far. Throws Error(Input), with `remedy`, what to do, where there
// are 2^32 of them or more.
void end_line(CutText& text, const std::string& path, const std::string& remedy);

// The file in word pieces, line by line. Throws as text_file.h says, and as end_line().
[[nodiscard]] CutText cut_lines(const std::string& path, const DataConfig& config,
                                const Pieces& vocabulary, TextForm form);
// The file by the tokenizer of a folder, without regard to lines. Throws as text_file.h says.
[[nodiscard]] CutText cut_as_it_is(const std::string& path, const DataConfig& config,
                                   const Tokenizer& tokenizer);

}  // namespace penstock
