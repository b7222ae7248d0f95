// runtime/data/tokens/shards/token_shards.h -- finds the files that a path of data.kind = "tokens"
// means, and opens them as one row of tokens.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

// The files that `path` means, in the order of their names: the one there; those that match it
// where it is a pattern with * or ? ("fineweb_train_*.bin"); name.idx, where it is the name or
// name.bin of a pair of Megatron-LM's. Empty: there is none.
[[nodiscard]] std::vector<std::string> token_files(const std::string& path);

// The files one after another, as if they were one; samples may span two of them. The vocabulary is
// the largest that any of them names. Throws Error(Input) where there is none, and as
// open_token_file() does.
[[nodiscard]] TokenFile open_token_files(const std::string& path);

}  // namespace penstock
