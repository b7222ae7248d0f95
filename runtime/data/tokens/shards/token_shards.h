// runtime/data/tokens/shards/token_shards.h -- which files a path of data.kind = "tokens" means,
// and all of them as one row of tokens.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

// The files, in the order of their names: that at `path`; those that a pattern with * or ? in it
// matches ("fineweb_train_*.bin"); or name.idx, where `path` is the name of a pair of Megatron's,
// or its name.bin. Empty: there is none.
[[nodiscard]] std::vector<std::string> token_files(const std::string& path);

// The files one after another, as if they were one; samples may span two of them. The vocabulary is
// the largest that any of them names. Throws Error(Input) where there is none, and as
// open_token_file() does.
[[nodiscard]] TokenFile open_token_files(const std::string& path);

}  // namespace penstock
