// runtime/data/tokens/shards/llmc_tokens.h -- reads the .bin files of token ids that the data
// scripts of llm.c write (github.com/karpathy/llm.c, dev/data/data_common.py).
//
// Layout: 256 little-endian int32, of which the first three are a magic number, a version and the
// number of tokens; then the tokens. Files for GPT-2 have magic 20240520, version 1 and uint16
// tokens; those for Llama 3 have 20240801, version 7 and uint32 tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/data/tokens/token_source.h"
#include "runtime/system/files/input_file.h"

namespace penstock {

// Whether a file that begins with these bytes (at least 4) has the magic number of llm.c.
[[nodiscard]] bool is_llmc(std::span<const uint8_t> first);
// The tokens of such a file, which stay on disk. Throws Error(Data) naming file and byte if the
// file has another version, or fewer or more bytes than its header says.
[[nodiscard]] std::shared_ptr<const TokenSource> open_llmc(std::shared_ptr<const InputFile> file);

}  // namespace penstock
