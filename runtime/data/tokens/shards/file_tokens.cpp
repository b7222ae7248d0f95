#include "runtime/data/tokens/shards/file_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"

namespace penstock {

FileTokens::FileTokens(std::shared_ptr<const InputFile> file, int64_t offset, int64_t size,
                       NumberType type, std::string unit, std::string text)
    : file_(std::move(file)),
      offset_(offset),
      size_(size),
      type_(type),
      unit_(std::move(unit)),
      text_(std::move(text)) {}

void FileTokens::read(int64_t first, std::span<int32_t> out) const {
  std::array<uint8_t, 4096> buffer;
  const size_t width = type_.width;
  while (!out.empty()) {
    const size_t n = std::min(out.size(), buffer.size() / width);
    file_->read(offset_ + first * static_cast<int64_t>(width), std::span(buffer).first(n * width));
    for (size_t i = 0; i < n; ++i) {
      out[i] = token(buffer.data() + i * width, first + static_cast<int64_t>(i));
    }
    out = out.subspan(n);
    first += static_cast<int64_t>(n);
  }
}

int32_t FileTokens::token(const uint8_t* bytes, int64_t index) const {
  uint32_t value = 0;
  for (size_t i = 0; i < type_.width; ++i) value |= uint32_t{bytes[i]} << (8 * i);
  if (value > INT32_MAX) no_id(value, index);
  return static_cast<int32_t>(value);
}

std::string FileTokens::place(int64_t index) const {
  return file_->path() + ", byte " +
         std::to_string(offset_ + index * static_cast<int64_t>(type_.width)) + ": " + unit_ + " " +
         std::to_string(index) + ", counted from 0,";
}

void FileTokens::no_id(uint32_t value, int64_t index) const {
  const std::string as_signed = std::to_string(static_cast<int32_t>(value));
  const std::string stands =
      type_.is_signed ? as_signed : std::to_string(value) + " (as int32 it is " + as_signed + ")";
  fail_data(place(index) + " is " + stands +
            ", which no vocabulary has: leave out of data.kind = \"tokens\" what is padding or a "
            "label to be ignored (-100, -1), or see whether it is of another type than its header "
            "says");
}

void no_token_file(const std::string& path, int64_t byte, const std::string& why) {
  fail_data(path + ", byte " + std::to_string(byte) + ": it is no token file (" + why +
            "): data.kind = \"tokens\" reads .npy of one axis of uint8, uint16, uint32 or int32, "
            "llm.c's .bin, Megatron's .idx of uint8, uint16 or int32, or the form of our own in "
            "docs/data.md#tokens");
}

uint64_t unsigned_of(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

void check_room(const InputFile& file, int64_t begin, uint64_t tokens, size_t width, Room room) {
  const auto bytes = static_cast<uint64_t>(file.size_bytes() - begin);
  if (tokens > bytes / width) {
    no_token_file(file.path(), file.size_bytes(), "it is shorter than its header says");
  }
  if (room == Room::Exactly && tokens * width != bytes) {
    no_token_file(file.path(), begin + static_cast<int64_t>(tokens * width),
                  "it is longer than its header says");
  }
}

}  // namespace penstock
