// runtime/data/tokens/shards/megatron_tokens.h -- reads the pairs of files of token ids that
// Megatron-LM's preprocess_data.py writes, as one row of tokens.
//
// name.bin has the tokens; name.idx, the index, says where each sequence of tokens lies in it
// (megatron/core/datasets/indexed_dataset.py). The sequences are read one after another, as they
// lie; the bounds of sequences and documents are not kept. Layout of name.idx, little-endian:
//   "MMIDIDX", two zeros; u64 version = 1; u8 type of a token; u64 sequences; u64 documents;
//   for each sequence an int32, the number of its tokens;
//   for each sequence an int64, its first byte in name.bin;
//   for each document an int64, its first sequence;
//   in files of several kinds of data an int8 for each sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

// Whether a file that begins with these bytes (at least 7) is such an index.
[[nodiscard]] bool is_megatron_index(std::span<const uint8_t> first);
// The path of the file of tokens that belongs to an index: name.bin for name.idx.
[[nodiscard]] std::string megatron_data_of(const std::string& index);

// Opens the pair of files with these paths, name.idx and name.bin. The index is checked as a whole
// and not kept; the tokens stay on disk. Throws Error(Input) if one of the files is not there, and
// Error(Data) naming file and byte if the index is damaged, has tokens of other than 1, 2 or 4
// bytes, does not fit the other file, or has sequences that do not lie end to end.
[[nodiscard]] std::shared_ptr<const TokenSource> open_megatron(const std::string& index,
                                                               const std::string& data);

}  // namespace penstock
