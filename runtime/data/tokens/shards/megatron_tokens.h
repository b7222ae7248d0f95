// runtime/data/tokens/shards/megatron_tokens.h -- reads what Megatron-LM's preprocess_data.py
// writes: tokens in name.bin, and name.idx, which says where each sequence is (megatron/core/
// datasets/indexed_dataset.py), as one row of tokens, sequence after sequence, as they lie.
//
// name.idx: "MMIDIDX", two zeros; little-endian u64 version = 1, u8 type of a token, u64 number of
// sequences, u64 number of documents; for each sequence an int32, the number of its tokens; for
// each sequence an int64, its first byte in name.bin; for each document an int64, its first
// sequence; in files of several kinds of data an int8 for each sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

// Whether a file that begins with these bytes (at least 7) is such an index.
[[nodiscard]] bool is_megatron_index(std::span<const uint8_t> first);
// The file of tokens that belongs to an index: name.bin of name.idx.
[[nodiscard]] std::string megatron_data_of(const std::string& index);

// Reads the index once, in pieces; the tokens stay on disk. Throws Error(Input) where one of the
// files is not there, Error(Data) naming file and byte where the index is damaged, names tokens of
// other than one, two or four bytes, does not fit the other file, or has sequences that do not lie
// end to end.
[[nodiscard]] std::shared_ptr<const TokenSource> open_megatron(const std::string& index,
                                                               const std::string& data);

}  // namespace penstock
