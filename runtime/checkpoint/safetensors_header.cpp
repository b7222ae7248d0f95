#include "runtime/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

#include "kernels/error.h"
#include "runtime/checkpoint/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

struct Width {
  const char* dtype;
  uint64_t bits;
};
// In the reference implementation's order, which its writer sorts by: narrow elements first.
constexpr std::array<Width, 22> kWidths = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

// The position in kWidths; its size for a dtype that does not exist.
size_t order_of(const std::string& dtype) {
  size_t i = 0;
  while (i < kWidths.size() && dtype != kWidths[i].dtype) ++i;
  return i;
}

// a x b, or false when that leaves 64 bits.
bool multiply(uint64_t a, uint64_t b, uint64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

std::vector<int64_t> parse_shape(const json& value, const std::string& where) {
  if (!value.is_array()) fail_input(where + ": its shape is not a list");
  std::vector<int64_t> shape;
  for (const json& extent : value) {
    constexpr uint64_t limit = std::numeric_limits<int64_t>::max();
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > limit) {
      fail_input(where + ": its shape has an extent " + extent.dump());
    }
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
}

void check_size(const TensorInfo& tensor, const std::string& where) {
  const size_t order = order_of(tensor.dtype);
  if (order == kWidths.size()) {
    fail_input(where + ": its dtype " + quoted(tensor.dtype) + " is unknown");
  }
  uint64_t size_bits = kWidths[order].bits;
  for (int64_t extent : tensor.shape) {
    if (!multiply(size_bits, static_cast<uint64_t>(extent), size_bits)) {
      fail_input(where + ": its shape has more elements than any file");
    }
  }
  if (size_bits % 8 != 0 || size_bits / 8 != tensor.size_bytes()) {
    fail_input(where + ": its shape and dtype take " + std::to_string(size_bits) +
               " bits but its data_offsets span " + std::to_string(tensor.size_bytes()) + " bytes");
  }
}

TensorInfo parse_tensor(const std::string& name, const json& value, const std::string& where) {
  if (!value.is_object()) fail_input(where + ": not an object");
  TensorInfo tensor{name, json_text(value, "dtype", where), {}, 0, 0};
  if (!value.contains("shape")) fail_input(where + ": \"shape\" is missing");
  tensor.shape = parse_shape(value["shape"], where);
  const auto offsets = value.find("data_offsets");
  if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    fail_input(where + ": \"data_offsets\" is not a pair of offsets");
  }
  tensor.begin = (*offsets)[0].get<uint64_t>();
  tensor.end = (*offsets)[1].get<uint64_t>();
  if (tensor.end < tensor.begin) fail_input(where + ": its data end before they begin");
  check_size(tensor, where);
  return tensor;
}

std::map<std::string, std::string> parse_metadata(const json& value, const std::string& file) {
  if (!value.is_object()) fail_input(file + ": __metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) fail_input(file + ": __metadata__ " + quoted(key) + " is not a text");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// Every byte of the data belongs to exactly one tensor.
void check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_bytes,
                 const std::string& file) {
  uint64_t next = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != next) {
      fail_input(file + ": tensor " + quoted(tensor.name) + " begins at byte " +
                 std::to_string(tensor.begin) + " of the data, which " +
                 (tensor.begin < next ? "overlaps" : "leaves a hole after") +
                 " the tensor before it, ending at " + std::to_string(next));
    }
    next = tensor.end;
  }
  if (next != data_bytes) {
    fail_input(file + ": its tensors take " + std::to_string(next) + " bytes but " +
               std::to_string(data_bytes) + " follow the header: it was cut or damaged");
  }
}

void append_member(std::string& object, const std::string& key,
                   const nlohmann::ordered_json& value) {
  if (object.size() > 1) object += ",";
  object += json(key).dump() + ":" + value.dump();
}

std::string little_endian(uint64_t value) {
  std::string bytes(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes[i] = static_cast<char>((value >> (8 * i)) & 0xFF);
  }
  return bytes;
}

}  // namespace

const char* safetensors_dtype(DType type) {
  switch (type) {
    case DType::F32:
      return "F32";
    case DType::BF16:
      return "BF16";
    case DType::F64:
      return "F64";
    case DType::I32:
      return "I32";
    case DType::U8:
      return "U8";
  }
  return "?";
}

std::string encode_safetensors_header(SafetensorsHeader& header) {
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tuple(order_of(b.dtype), a.name) < std::tuple(order_of(a.dtype), b.name);
            });
  // Member by member: an ordered JSON object looks every key up in all those before it.
  std::string text = "{";
  if (!header.metadata.empty()) append_member(text, kMetadata, header.metadata);
  std::set<std::string_view> names = {"", kMetadata};
  uint64_t next = 0;
  for (TensorInfo& tensor : header.tensors) {
    if (!names.insert(tensor.name).second) {
      fail_internal("a checkpoint file cannot hold one more tensor called \"" + tensor.name + "\"");
    }
    const uint64_t size_bytes = tensor.size_bytes();
    tensor.begin = next;
    next += size_bytes;
    tensor.end = next;
    append_member(text, tensor.name,
                  {{"dtype", tensor.dtype},
                   {"shape", tensor.shape},
                   {"data_offsets", {tensor.begin, tensor.end}}});
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaximumHeaderBytes) fail_internal("a checkpoint file has too many tensors");
  return little_endian(text.size()) + text;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                           const std::string& file) {
  if (text.empty() || text.front() != '{') fail_input(file + ": its header is not JSON");
  const json document = parse_json(text, file);
  SafetensorsHeader header;
  for (const auto& [name, value] : document.items()) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(value, file);
    } else {
      header.tensors.push_back(parse_tensor(name, value, file + ": tensor " + quoted(name)));
    }
  }
  // Empty tensors share an offset with the one after them.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tuple(a.begin, a.end, a.name) < std::tuple(b.begin, b.end, b.name);
            });
  check_cover(header.tensors, data_bytes, file);
  return header;
}

}  // namespace penstock
