// runtime/data/tokens/shards/llmc_tokens.h -- the .bin files that the data scripts of llm.c write
// (github.com/karpathy/llm.c, dev/data/data_common.py): 256 little-endian int32, of which the first
// three are a magic number, a version and the number of tokens; then the tokens. GPT-2's are
// 20240520, 1 and of uint16; Llama 3's 20240801, 7 and of uint32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/data/tokens/token_source.h"
#include "runtime/system/files/input_file.h"

namespace penstock {

// Whether a file that begins with these (4 bytes at least) is one, as far as the magic number goes.
[[nodiscard]] bool is_llmc(std::span<const uint8_t> first);
// Throws Error(Data) naming file and byte where it is another version, cut off, or too long.
[[nodiscard]] std::shared_ptr<const TokenSource> open_llmc(std::shared_ptr<const InputFile> file);

}  // namespace penstock
