// runtime/data/tokens/shards/token_shards.h -- opens what data.train names with data.kind =
// "tokens": one file of token ids or many (shards), as one row of tokens.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

// The paths of the files that `path` stands for, in the order of their names; empty: there is none.
// `path` is a file; or a pattern with * or ? ("fineweb_train_*.bin"), for all files that match it;
// or "name" or "name.bin" of a pair of Megatron-LM (megatron_tokens.h), for which name.idx is
// returned.
[[nodiscard]] std::vector<std::string> token_files(const std::string& path);

// Opens these files one behind the other, as if they were one file; a sample may begin in one and
// end in the next. The vocabulary is the largest that any of them names. Throws Error(Input) where
// there is no file, Error(Data) naming file and byte for one that has none of the forms that
// open_token_file() (token_source.h) reads.
[[nodiscard]] TokenFile open_token_files(const std::string& path);

}  // namespace penstock
