#include "runtime/data/text/token_source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/text/byte_file.h"
#include "runtime/data/text/packed_tokens.h"
#include "runtime/data/text/text_file.h"
#include "runtime/data/text/vocabulary.h"

namespace penstock {
namespace {

// Fixed-width little-endian numbers of a file from an offset on.
class FileTokens final : public TokenSource {
 public:
  FileTokens(std::shared_ptr<const ByteFile> file, int64_t offset, int64_t size, size_t width,
             std::string unit)
      : file_(std::move(file)),
        offset_(offset),
        size_(size),
        width_(width),
        unit_(std::move(unit)) {}

  [[nodiscard]] const std::string& path() const override { return file_->path(); }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::string unit() const override { return unit_; }
  // Through a small buffer, so that reading allocates nothing.
  void read(int64_t first, std::span<int32_t> out) const override {
    std::array<uint8_t, 4096> buffer;
    while (!out.empty()) {
      const size_t n = std::min(out.size(), buffer.size() / width_);
      file_->read(offset_ + first * static_cast<int64_t>(width_),
                  std::span(buffer).first(n * width_));
      for (size_t i = 0; i < n; ++i) {
        out[i] = token(buffer.data() + i * width_, first + static_cast<int64_t>(i));
      }
      out = out.subspan(n);
      first += static_cast<int64_t>(n);
    }
  }

 private:
  [[nodiscard]] int32_t token(const uint8_t* bytes, int64_t index) const {
    uint32_t value = 0;
    for (size_t i = 0; i < width_; ++i) value |= uint32_t{bytes[i]} << (8 * i);
    if (value > INT32_MAX) {
      fail_data(path() + ", byte " +
                std::to_string(offset_ + index * static_cast<int64_t>(width_)) +
                ": it holds the token " + std::to_string(value) +
                ", which no vocabulary has: is it of another type than its header says?");
    }
    return static_cast<int32_t>(value);
  }

  std::shared_ptr<const ByteFile> file_;
  int64_t offset_, size_;
  size_t width_;
  std::string unit_;
};

class TokensInMemory final : public TokenSource {
 public:
  TokensInMemory(std::string path, PackedTokens tokens, std::string unit)
      : path_(std::move(path)), tokens_(std::move(tokens)), unit_(std::move(unit)) {}
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  [[nodiscard]] std::string unit() const override { return unit_; }
  void read(int64_t first, std::span<int32_t> out) const override {
    tokens_.read(static_cast<size_t>(first), out);
  }

 private:
  std::string path_;
  PackedTokens tokens_;
  std::string unit_;
};

[[noreturn]] void no_token_file(const std::string& path, int64_t byte, const std::string& why) {
  fail_data(path + ", byte " + std::to_string(byte) + ": it is no token file (" + why +
            "): data.kind = \"tokens\" reads what numpy.save() writes of one axis of uint16, or "
            "the format described in the README");
}

uint64_t number(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

// The value behind 'key': in the header of a .npy file, up to `end`.
std::string npy_value(const std::string& header, const std::string& key, char end) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) return {};
  const size_t first = header.find_first_not_of(' ', at + key.size() + 3);
  const size_t last = first == std::string::npos ? first : header.find(end, first + 1);
  return last == std::string::npos ? "" : header.substr(first, last - first + 1);
}

size_t npy_width(const std::string& type) {
  if (type == "'|u1'") return 1;
  if (type == "'<u2'") return 2;
  if (type == "'<u4'" || type == "'<i4'") return 4;
  return 0;
}

// The n of "(n,)"; nothing for another shape.
std::optional<int64_t> npy_length(const std::string& shape) {
  if (shape.size() < 4 || !shape.starts_with('(') || !shape.ends_with(",)")) return std::nullopt;
  int64_t length = 0;
  const char* const last = shape.data() + shape.size() - 2;
  const auto [end, error] = std::from_chars(shape.data() + 1, last, length);
  if (error != std::errc() || end != last || length < 0) return std::nullopt;
  return length;
}

// Throws unless `tokens` of that width lie between byte `begin` and the end of the file.
void check_room(const ByteFile& file, int64_t begin, uint64_t tokens, size_t width) {
  if (tokens <= static_cast<uint64_t>(file.size_bytes() - begin) / width) return;
  no_token_file(file.path(), file.size_bytes(), "it is shorter than its header says");
}

std::shared_ptr<const TokenSource> open_npy(std::shared_ptr<const ByteFile> file, uint8_t version) {
  constexpr int64_t kLongestHeader = 1 << 16;  // one axis takes 128 bytes
  const std::string& path = file->path();
  if (version < 1 || version > 3) no_token_file(path, 6, "its version is not known");
  const int64_t fixed = version == 1 ? 10 : 12;
  std::array<uint8_t, 4> length{};
  if (file->size_bytes() < fixed) no_token_file(path, file->size_bytes(), "it is cut off");
  const auto length_bytes = static_cast<size_t>(fixed - 8);
  file->read(8, std::span(length).first(length_bytes));
  const auto header_bytes = static_cast<int64_t>(number(std::span(length).first(length_bytes)));
  if (header_bytes > file->size_bytes() - fixed) {
    no_token_file(path, file->size_bytes(), "it is cut off");
  }
  if (header_bytes > kLongestHeader) no_token_file(path, 8, "its header is too long");
  std::string header(static_cast<size_t>(header_bytes), '\0');
  file->read(fixed, {reinterpret_cast<uint8_t*>(header.data()), header.size()});
  const size_t width = npy_width(npy_value(header, "descr", '\''));
  if (width == 0) no_token_file(path, fixed, "its numbers are not uint8, uint16, uint32 or int32");
  const std::optional<int64_t> size = npy_length(npy_value(header, "shape", ')'));
  if (!size) no_token_file(path, fixed, "it has not one axis");
  check_room(*file, fixed + header_bytes, static_cast<uint64_t>(*size), width);
  return std::make_shared<FileTokens>(std::move(file), fixed + header_bytes, *size, width, "token");
}

TokenFile open_plain(std::shared_ptr<const ByteFile> file) {
  const std::string& path = file->path();
  constexpr int64_t kHeader = 32;
  std::array<uint8_t, kHeader> header{};
  if (file->size_bytes() < kHeader) no_token_file(path, file->size_bytes(), "it is cut off");
  file->read(0, header);
  const std::span bytes(header);
  const uint64_t version = number(bytes.subspan(8, 4));
  const uint64_t width = number(bytes.subspan(12, 4));
  const uint64_t size = number(bytes.subspan(16, 8));
  const uint64_t vocabulary = number(bytes.subspan(24, 8));
  if (version != 1 || (width != 2 && width != 4) || vocabulary > INT32_MAX) {
    no_token_file(path, 8, "its header makes no sense");
  }
  check_room(*file, kHeader, size, width);
  TokenFile opened;
  opened.tokens = std::make_shared<FileTokens>(std::move(file), kHeader, static_cast<int64_t>(size),
                                               width, "token");
  opened.vocabulary = static_cast<int64_t>(vocabulary);
  return opened;
}

}  // namespace

std::shared_ptr<const TokenSource> open_bytes(const std::string& path, int64_t unpack_limit) {
  if (!is_compressed(path)) {
    auto file = std::make_shared<const ByteFile>(path);
    const int64_t size = file->size_bytes();
    return std::make_shared<FileTokens>(std::move(file), 0, size, 1, "byte");
  }
  return std::make_shared<TokensInMemory>(path, PackedTokens(read_whole_file(path, unpack_limit)),
                                          "byte");
}

std::shared_ptr<const TokenSource> open_text_in_pieces(const std::string& path,
                                                       const Pieces& vocabulary,
                                                       int64_t unpack_limit) {
  PackedTokens tokens(vocabulary.size());
  const std::optional<int32_t> line_end = vocabulary.find(kLinePiece);
  const auto take = [&](std::string_view line) {
    tokens.append(vocabulary.encode(line));
    if (line_end) tokens.append(std::span(&*line_end, 1));
  };
  for_each_line(path, take, unpack_limit);
  return std::make_shared<TokensInMemory>(path, std::move(tokens), "piece");
}

TokenFile open_token_file(const std::string& path) {
  auto file = std::make_shared<const ByteFile>(path);
  std::array<uint8_t, 8> first{};
  if (file->size_bytes() < 8) no_token_file(path, file->size_bytes(), "it is cut off");
  file->read(0, first);
  const std::string_view magic(reinterpret_cast<const char*>(first.data()), first.size());
  if (magic == "PSTOKENS") return open_plain(std::move(file));
  if (magic.starts_with("\x93NUMPY")) return {open_npy(std::move(file), first[6]), 0};
  no_token_file(path, 0, "it does not begin like one");
}

}  // namespace penstock
