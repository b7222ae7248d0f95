// runtime/data/tokens/token_cache.h -- opens a text as tokens, and keeps these in a file beside the
// run, so that a text is cut into tokens once and not by every rank at every start.
//
// The name of the file is a hash of all that the tokens depend on: the bytes of the text and of the
// vocabulary or tokenizer files, the version of our rules (kCutVersion in cut_text.h), and the
// versions of the libraries that know which characters are letters. So a changed text gets another
// file. The file is complete or absent (written under another name, then renamed); ranks that find
// none may each write it, with the same contents. Before use its checksum is verified; a wrong one
// means that the text is cut anew.
//
// The tokens are then read from the file by position, a window at a time; the ranks of a host share
// the pages that the system keeps of it. The file is not mapped into memory, since a mapped file
// that shrinks, or whose server is gone, ends the process by SIGBUS.
//
// Layout: a token file "PSTOKENS" (token_source.h), then u32 starts of lines, for the forms that
// have them, then "PSCACHE2", u64 key (the hash), u64 number of starts, u64 CutText::not_utf8, u64
// 1 if CutText::marked, u64 checksum of all before.
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
  std::vector<uint32_t> starts = {};  // as CutText::starts, not_utf8 and marked
  int64_t not_utf8 = 0;
  bool marked = false;
  // Says that the tokens could not be kept in a file and so stay in the memory of each rank; empty:
  // all went well.
  std::string note = {};
};

// The text at `path`, plain or compressed, in word pieces of `vocabulary`, which was read from the
// file config.vocabulary; `form` is Row or Lines. If config.cache_folder (empty: there is none) has
// the tokens, opens them. Else cuts the text, and keeps the tokens there if the text has at least
// config.cache_least_bytes on disk. If they cannot be kept, they stay in memory. Throws
// Error(Input) if there is no readable file, or for lines of 2^32 pieces or more together;
// Error(Data) if the file is damaged or unpacks to too much (text_file.h), or if it changes while
// it is cut.
[[nodiscard]] TextInPieces text_in_pieces(const std::string& path, const DataConfig& config,
                                          const Pieces& vocabulary, TextForm form);

// The same by `tokenizer`, that of the folder config.vocabulary (TextForm::AsItIs). No special
// tokens are put around the text.
[[nodiscard]] TextInPieces text_by_tokenizer(const std::string& path, const DataConfig& config,
                                             const Tokenizer& tokenizer);

// The same for samples of a file of data.kind = "jsonl" (TextForm::Samples). Where nothing is kept
// yet it calls `cut`, which reads the lines and calls keep(numbers) for one sample after another.
// `numbers` may be anything that the caller can read back, each below twice the vocabulary or 4096,
// whichever is more. Throws what `cut` throws, and Error(Input) for 2^32 numbers or more.
using KeepLine = std::function<void(const std::vector<int32_t>& numbers)>;
[[nodiscard]] TextInPieces samples_by_tokenizer(
    const std::string& path, const DataConfig& config, const Tokenizer& tokenizer,
    const std::function<void(const KeepLine& keep)>& cut);

}  // namespace penstock
