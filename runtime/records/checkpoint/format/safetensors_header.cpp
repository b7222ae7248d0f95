#include "runtime/records/checkpoint/format/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "kernels/checked.h"
#include "kernels/error.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/json_events.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

struct Width {
  const char* dtype;
  uint64_t bits;
};
// These are the dtypes in the order of the reference implementation: narrow elements first. Its
// writer sorts tensors by this order, the last dtype first.
constexpr std::array<Width, 22> kWidths = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

// Returns the position of a dtype in kWidths, or the size of kWidths if there is no such dtype.
size_t order_of(const std::string& dtype) {
  size_t i = 0;
  while (i < kWidths.size() && dtype != kWidths[i].dtype) ++i;
  return i;
}

// Collects the tensors while the JSON is parsed. Refuses a wrong header, and names the byte at
// which the mistake is.
class HeaderReader final : public JsonReader {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  SafetensorsHeader header;

  void text(const JsonPlace& place, const std::string& value) override {
    if (is_metadata(place)) {
      if (place.keys.size() != 2 || place.lists > 0) refuse_metadata(place);
      header.metadata[place.keys[1]] = value;
    } else if (is_member(place, "dtype")) {
      tensor_.dtype = value;
    } else {
      unexpected(place);
    }
  }

  void count(const JsonPlace& place, uint64_t value) override {
    if (is_element(place, "shape")) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) refuse_extent(place);
      if (tensor_.shape.size() == kMostExtents) {
        refuse(place, "its shape has more than " + std::to_string(kMostExtents) + " extents");
      }
      tensor_.shape.push_back(static_cast<int64_t>(value));
    } else if (is_element(place, "data_offsets")) {
      if (offsets_ == 2) refuse_offsets(place);
      (offsets_++ == 0 ? tensor_.begin : tensor_.end) = value;
    } else {
      unexpected(place);
    }
  }

  void other(const JsonPlace& place) override { unexpected(place); }

  void open(const JsonPlace& place, bool is_list) override {
    if (place.keys.size() == 1 && place.lists == 0) {
      if (is_list) unexpected(place);
      tensor_ = {.name = place.keys[0], .dtype = {}, .shape = {}};
      has_shape_ = false;
      offsets_ = 0;
      return;
    }
    if (is_metadata(place)) refuse_metadata(place);
    if (is_list && is_member(place, "shape")) {
      has_shape_ = true;
    } else if (!is_list || !is_member(place, "data_offsets")) {
      unexpected(place);
    }
  }

  void close(const JsonPlace& place) override {
    if (place.keys.size() != 1 || is_metadata(place)) return;
    if (tensor_.dtype.empty()) refuse(place, "its \"dtype\" is missing");
    if (!has_shape_) refuse(place, "its \"shape\" is missing");
    if (offsets_ != 2) refuse_offsets(place);
    if (tensor_.end < tensor_.begin) refuse(place, "its data end before they begin");
    check_size(place);
    header.tensors.push_back(std::move(tensor_));
  }

 private:
  static constexpr size_t kMostExtents = 64;  // the limit for one shape: no network comes near it

  static bool is_metadata(const JsonPlace& place) { return place.keys[0] == kMetadata; }
  static bool is_member(const JsonPlace& place, const char* key) {
    return place.keys.size() == 2 && place.lists == 0 && place.keys[1] == key;
  }
  static bool is_element(const JsonPlace& place, const char* key) {
    return place.keys.size() == 2 && place.lists == 1 && place.keys[1] == key;
  }

  [[noreturn]] void refuse(const JsonPlace& place, const std::string& what) const {
    fail_at(file_, kLengthBytes + place.byte, "tensor " + quoted(place.keys[0]) + ": " + what);
  }
  [[noreturn]] void refuse_metadata(const JsonPlace& place) const {
    fail_at(file_, kLengthBytes + place.byte, "__metadata__ is not an object of texts");
  }
  [[noreturn]] void refuse_extent(const JsonPlace& place) const {
    refuse(place, "its shape has an extent that is no whole number, or too large");
  }
  [[noreturn]] void refuse_offsets(const JsonPlace& place) const {
    refuse(place, "its \"data_offsets\" is not a pair of offsets");
  }

  // Refuses a value of the wrong kind at this place. Ignores members that are not known.
  void unexpected(const JsonPlace& place) const {
    if (is_metadata(place)) refuse_metadata(place);
    if (place.keys.size() == 1) refuse(place, "it is not an object");
    const std::string& key = place.keys[1];
    if (key == "dtype") refuse(place, "its \"dtype\" is not a text");
    if (key == "shape" && place.lists == 0) refuse(place, "its \"shape\" is not a list");
    if (key == "shape") refuse_extent(place);
    if (key == "data_offsets") refuse_offsets(place);
  }

  void check_size(const JsonPlace& place) const {
    const size_t order = order_of(tensor_.dtype);
    if (order == kWidths.size()) {
      refuse(place, "its dtype " + quoted(tensor_.dtype) + " is unknown");
    }
    std::optional<uint64_t> size_bits = kWidths[order].bits;
    for (const int64_t extent : tensor_.shape) {
      size_bits = checked_product(*size_bits, static_cast<uint64_t>(extent));
      if (!size_bits) refuse(place, "its shape has more elements than any file");
    }
    if (*size_bits % 8 != 0 || *size_bits / 8 != tensor_.size_bytes()) {
      refuse(place, "its shape and dtype take " + std::to_string(*size_bits) +
                        " bits but its data_offsets span " + std::to_string(tensor_.size_bytes()) +
                        " bytes");
    }
  }

  const std::string& file_;
  TensorInfo tensor_;  // the tensor that is being read
  bool has_shape_ = false;
  int offsets_ = 0;  // how many offsets have been read
};

// Refuses data with a byte that belongs to no tensor or to several. The data begin at byte
// `data_begin` of the file.
void check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_begin, uint64_t data_bytes,
                 const std::string& file) {
  uint64_t next = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != next) {
      fail_at(file, data_begin + next,
              "tensor " + quoted(tensor.name) + " begins at byte " + std::to_string(tensor.begin) +
                  " of the data, which " +
                  (tensor.begin < next ? "overlaps" : "leaves a hole after") +
                  " the tensor before it, ending at " + std::to_string(next));
    }
    next = tensor.end;
  }
  if (next != data_bytes) {
    fail_at(file, data_begin + std::min(next, data_bytes),
            "its tensors take " + std::to_string(next) + " bytes but " +
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
  // Members are written one by one: an ordered JSON object would compare each key with all earlier
  // keys, which takes long if there are many tensors.
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
  if (text.empty() || text.front() != '{') fail_at(file, kLengthBytes, "its header is not JSON");
  HeaderReader reader(file);
  read_json(text, file, reader);
  SafetensorsHeader header = std::move(reader.header);
  // An empty tensor begins at the same byte as the tensor after it. So tensors that begin together
  // are sorted by their ends.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tuple(a.begin, a.end, a.name) < std::tuple(b.begin, b.end, b.name);
            });
  check_cover(header.tensors, kLengthBytes + text.size(), data_bytes, file);
  return header;
}

}  // namespace penstock
