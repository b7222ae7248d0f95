// runtime/records/checkpoint/format/safetensors_header.h -- reads and writes the header of a
// safetensors file, which lists the tensors in it. It works on text alone and opens no file, so
// that it can be tested with random input (fuzzed).
//
// The format (github.com/huggingface/safetensors) of a file: a little-endian 64-bit number N, then
// N bytes of JSON that begin with '{' and may end in spaces, then the data. The JSON maps the name
// of each tensor to {dtype, shape, data_offsets: [begin, end)}, with offsets from the start of the
// data, and "__metadata__" to an object of texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shape.h"

namespace penstock {

// What a header says of one tensor.
struct TensorInfo {
  std::string name;
  std::string dtype;  // as the file has it: "F32", "BF16", "I64"
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // the first byte of its data, counted from the start of all data
  uint64_t end = 0;    // one past its last byte
  [[nodiscard]] uint64_t size_bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;              // in the order of their data
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

inline constexpr uint64_t kLengthBytes = 8;                 // of the number N in front
inline constexpr uint64_t kMaximumHeaderBytes = 100000000;  // the reference reader's limit of N

// The name of a type in such a file: "F32", "BF16", "F64", "I32" or "U8".
[[nodiscard]] const char* safetensors_dtype(DType type);

// Sorts header.tensors as the reference writer does (widest elements first, then by name), sets
// their offsets, and returns all bytes of the file before the data: N and the JSON, padded to a
// multiple of 8 bytes. Throws Error(Internal) if two tensors have one name, or a name cannot be
// used.
[[nodiscard]] std::string encode_safetensors_header(SafetensorsHeader& header);

// Reads a header. `json` is the JSON without N, `data_bytes` the length of the data behind it,
// `file` the path, for messages. Throws Error(Data), naming `file`, the tensor and the byte, for
// everything that the reference reader refuses: bad JSON, duplicate names, unknown dtypes, sizes
// that overflow or that are not shape x dtype, tensors that overlap or leave gaps, and data that do
// not end with the last tensor.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                                         const std::string& file);

}  // namespace penstock
