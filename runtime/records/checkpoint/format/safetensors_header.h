// runtime/records/checkpoint/format/safetensors_header.h -- reads and writes the header of a
// safetensors file, as text. Opens no file, so that it can be fuzzed.
//
// The format (github.com/huggingface/safetensors): a little-endian u64 N, N bytes of UTF-8 JSON
// that begin with '{' and may end in spaces, then the data. The JSON maps each tensor's name to
// {dtype, shape, data_offsets: [begin, end)} relative to the data, and "__metadata__" to texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shape.h"

namespace penstock {

struct TensorInfo {
  std::string name;
  std::string dtype;  // as the file says it: "F32", "BF16", "I64"
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes, from the start of the data
  uint64_t end = 0;
  [[nodiscard]] uint64_t size_bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

inline constexpr uint64_t kLengthBytes = 8;                 // of the u64 in front
inline constexpr uint64_t kMaximumHeaderBytes = 100000000;  // what the reference reader accepts

// What a file calls the type: F32, BF16, F64, I32 or U8.
[[nodiscard]] const char* safetensors_dtype(DType type);

// Sorts the tensors as the reference writer does (widest elements first, then by name), sets their
// offsets and returns everything in front of the data: length and JSON, padded to a multiple of 8.
// Throws Error(Internal) for two tensors of one name or one of an unusable name.
[[nodiscard]] std::string encode_safetensors_header(SafetensorsHeader& header);

// Refuses, as Error(Data) naming `file`, the tensor and the byte, everything that the reference
// reader refuses: bad JSON, duplicate names, unknown dtypes, sizes that overflow or that are not
// shape x dtype, tensors that overlap or leave holes, and data that do not end with the last
// tensor.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                                         const std::string& file);

}  // namespace penstock
