#include "runtime/data/tokens/token_source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "kernels/philox.h"
#include "runtime/data/tokens/foreign_file.h"
#include "runtime/data/tokens/packed_tokens.h"
#include "runtime/data/tokens/shards/file_tokens.h"
#include "runtime/data/tokens/shards/llmc_tokens.h"
#include "runtime/data/tokens/shards/megatron_tokens.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

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

// Returns the value behind 'key': in the header of a .npy file, up to and including the character
// `end`. Returns an empty text if there is no such key.
std::string npy_value(const std::string& header, const std::string& key, char end) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) return {};
  const size_t first = header.find_first_not_of(' ', at + key.size() + 3);
  const size_t last = first == std::string::npos ? first : header.find(end, first + 1);
  return last == std::string::npos ? "" : header.substr(first, last - first + 1);
}

// Returns the number type that numpy's header names. The width of the type is 0 if it is not
// supported.
NumberType npy_numbers(const std::string& type) {
  if (type == "'|u1'") return {1};
  if (type == "'<u2'") return {2};
  if (type == "'<u4'") return {4};
  return {type == "'<i4'" ? 4U : 0U, true};
}

// Returns numpy's word for a type in a header, for example int64 for "<i8".
std::string npy_type(const std::string& type) {
  if (type == "'<i8'") return "int64";
  if (type == "'<u8'") return "uint64";
  return type.empty() ? "of no type" : "of the type " + quoted(type);
}

// Returns the n of the shape "(n,)", or nothing if the shape has another number of axes.
std::optional<int64_t> npy_length(const std::string& shape) {
  if (shape.size() < 4 || !shape.starts_with('(') || !shape.ends_with(",)")) return std::nullopt;
  const auto length = parse_number<int64_t>(std::string_view(shape).substr(1, shape.size() - 3));
  return length && *length >= 0 ? length : std::nullopt;
}

std::shared_ptr<const TokenSource> open_npy(std::shared_ptr<const InputFile> file,
                                            uint8_t version) {
  constexpr int64_t kLongestHeader = 1 << 16;  // enough for one axis, which takes 128 bytes
  const std::string& path = file->path();
  if (version < 1 || version > 3) no_token_file(path, 6, "its version is not known");
  const int64_t fixed = version == 1 ? 10 : 12;
  std::array<uint8_t, 4> length{};
  if (file->size_bytes() < fixed) no_token_file(path, file->size_bytes(), "it is cut off");
  const auto length_bytes = static_cast<size_t>(fixed - 8);
  file->read(8, std::span(length).first(length_bytes));
  const auto header_bytes =
      static_cast<int64_t>(unsigned_of(std::span(length).first(length_bytes)));
  if (header_bytes > file->size_bytes() - fixed) {
    no_token_file(path, file->size_bytes(), "it is cut off");
  }
  if (header_bytes > kLongestHeader) no_token_file(path, 8, "its header is too long");
  std::string header(static_cast<size_t>(header_bytes), '\0');
  file->read(fixed, {reinterpret_cast<uint8_t*>(header.data()), header.size()});
  const std::string type = npy_value(header, "descr", '\'');
  const NumberType numbers = npy_numbers(type);
  if (numbers.width == 0) {
    no_token_file(path, fixed,
                  "its numbers are " + npy_type(type) +
                      "; numpy.save(path, tokens.astype(numpy.uint32)) writes it anew");
  }
  const std::optional<int64_t> size = npy_length(npy_value(header, "shape", ')'));
  if (!size) no_token_file(path, fixed, "it has not one axis");
  check_room(*file, fixed + header_bytes, static_cast<uint64_t>(*size), numbers.width,
             Room::Exactly);
  return std::make_shared<FileTokens>(std::move(file), fixed + header_bytes, *size, numbers,
                                      "token");
}

// Returns whether the tokens that end at byte `end` are followed by the footer of a token cache
// (token_cache.h), of today or of version 1, and nothing else. Only the cache of a text without
// lines is such a file.
bool ends_like_a_cache(const InputFile& file, int64_t end) {
  const int64_t bytes = file.size_bytes() - end;
  if (bytes != 32 && bytes != 48) return false;
  std::array<uint8_t, 24> footer{};
  file.read(end, footer);
  const std::string_view magic(reinterpret_cast<const char*>(footer.data()), 8);
  return magic == (bytes == 32 ? "PSCACHE1" : "PSCACHE2") &&
         unsigned_of(std::span(footer).subspan(16, 8)) == 0;
}

TokenFile open_plain(std::shared_ptr<const InputFile> file) {
  const std::string& path = file->path();
  constexpr int64_t kHeader = 32;
  std::array<uint8_t, kHeader> header{};
  if (file->size_bytes() < kHeader) no_token_file(path, file->size_bytes(), "it is cut off");
  file->read(0, header);
  const std::span bytes(header);
  const uint64_t version = unsigned_of(bytes.subspan(8, 4));
  const uint64_t width = unsigned_of(bytes.subspan(12, 4));
  const uint64_t size = unsigned_of(bytes.subspan(16, 8));
  const uint64_t vocabulary = unsigned_of(bytes.subspan(24, 8));
  if (version != 1 || (width != 1 && width != 2 && width != 4) || vocabulary > INT32_MAX) {
    no_token_file(path, 8, "its header makes no sense");
  }
  check_room(*file, kHeader, size, width, Room::AtLeast);
  const int64_t end = kHeader + static_cast<int64_t>(size * width);
  if (!ends_like_a_cache(*file, end)) check_room(*file, kHeader, size, width, Room::Exactly);
  TokenFile opened;
  opened.tokens = std::make_shared<FileTokens>(std::move(file), kHeader, static_cast<int64_t>(size),
                                               NumberType{width}, "token");
  opened.vocabulary = static_cast<int64_t>(vocabulary);
  return opened;
}

}  // namespace

int64_t content_sum(const TokenSource& tokens) {
  constexpr int64_t kPiece = 4096;
  constexpr int64_t kPieces = 256;
  const int64_t pieces = (tokens.size() + kPiece - 1) / kPiece;
  uint64_t sum = mix(static_cast<uint64_t>(tokens.size()));
  std::vector<int32_t> piece;
  for (int64_t i = 0; i < std::min(pieces, kPieces); ++i) {
    const int64_t at = pieces <= kPieces ? i : i * (pieces - 1) / (kPieces - 1);
    piece.resize(static_cast<size_t>(std::min(kPiece, tokens.size() - at * kPiece)));
    tokens.read(at * kPiece, piece);
    for (const int32_t token : piece) sum = mix(sum ^ static_cast<uint64_t>(token));
  }
  return static_cast<int64_t>(sum >> 1) | 1;
}

std::shared_ptr<const TokenSource> open_bytes(const std::string& path, int64_t unpack_limit) {
  if (!is_compressed(path)) {
    auto file = std::make_shared<const InputFile>(path);
    const int64_t size = file->size_bytes();
    std::string beginning(static_cast<size_t>(std::min<int64_t>(size, kForeignBytes)), '\0');
    file->read(0, beginning.data(), beginning.size());
    refuse_foreign_file(beginning, path);
    return std::make_shared<FileTokens>(std::move(file), 0, size, NumberType{1}, "byte");
  }
  return tokens_in_memory(path, PackedTokens(read_whole_file(path, unpack_limit)), "byte");
}

std::shared_ptr<const TokenSource> tokens_in_memory(const std::string& path, PackedTokens tokens,
                                                    const std::string& unit) {
  return std::make_shared<TokensInMemory>(path, std::move(tokens), unit);
}

TokenFile open_token_file(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path);
  refuse_stand_in(file->beginning(), path);
  std::array<uint8_t, 8> first{};
  if (file->size_bytes() < 8) no_token_file(path, file->size_bytes(), "it is cut off");
  file->read(0, first);
  const std::string_view magic(reinterpret_cast<const char*>(first.data()), first.size());
  if (magic == "PSTOKENS") return open_plain(std::move(file));
  if (magic.starts_with("\x93NUMPY")) return {open_npy(std::move(file), first[6]), 0};
  if (is_llmc(first)) return {open_llmc(std::move(file)), 0};
  if (is_megatron_index(first)) return {open_megatron(path, megatron_data_of(path)), 0};
  no_token_file(path, 0,
                "it does not begin like one; of the bare numbers in nanoGPT's .bin, "
                "numpy.save('train.npy', numpy.fromfile('train.bin', numpy.uint16)) makes one");
}

}  // namespace penstock
