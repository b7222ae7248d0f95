#include "runtime/data/tokens/shards/megatron_tokens.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "runtime/data/tokens/shards/file_tokens.h"

namespace penstock {
namespace {

constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);
constexpr int64_t kMegatronHeader = 9 + 8 + 1 + 8 + 8;

// Returns the number type that Megatron's code stands for. The width of the type is 0 if it is not
// supported.
NumberType megatron_numbers(uint8_t code) {
  constexpr uint8_t kU8 = 1, kI32 = 4, kU16 = 8;
  return {code == kU8 ? 1U : code == kU16 ? 2U : code == kI32 ? 4U : 0U, code == kI32};
}

// Returns Megatron's name of the type with this code.
std::string megatron_type(uint8_t code) {
  constexpr std::array<const char*, 9> kNames = {"",      "uint8",   "int8",    "int16", "int32",
                                                 "int64", "float64", "float32", "uint16"};
  if (code == 0 || code >= kNames.size()) return "of the type " + std::to_string(code);
  return kNames[code];
}

struct MegatronIndex {
  NumberType numbers = {};
  int64_t sequences = 0;
  [[nodiscard]] int64_t lengths() const { return kMegatronHeader; }
  [[nodiscard]] int64_t places() const { return lengths() + 4 * sequences; }
  [[nodiscard]] int64_t documents() const { return places() + 8 * sequences; }
};

MegatronIndex read_header(const InputFile& file) {
  const std::string& path = file.path();
  if (file.size_bytes() < kMegatronHeader) no_token_file(path, file.size_bytes(), "it is cut off");
  std::array<uint8_t, kMegatronHeader> header{};
  file.read(0, header);
  const std::span bytes(header);
  if (!std::equal(kMegatronMagic.begin(), kMegatronMagic.end(), header.begin())) {
    no_token_file(path, 0, "it does not begin like Megatron's index");
  }
  if (unsigned_of(bytes.subspan(9, 8)) != 1) no_token_file(path, 9, "its version is not known");
  MegatronIndex index;
  index.numbers = megatron_numbers(header[17]);
  if (index.numbers.width == 0) {
    no_token_file(path, 17, "its tokens are " + megatron_type(header[17]));
  }
  const uint64_t sequences = unsigned_of(bytes.subspan(18, 8));
  const uint64_t documents = unsigned_of(bytes.subspan(26, 8));
  // The numbers come from the file and cannot be trusted. So the checks divide first, because a
  // product could overflow.
  auto rest = static_cast<uint64_t>(file.size_bytes() - kMegatronHeader);
  if (sequences > rest / 12) no_token_file(path, 18, "it is shorter than its header says");
  rest -= sequences * 12;
  if (documents > rest / 8) no_token_file(path, 26, "it is shorter than its header says");
  rest -= documents * 8;
  if (rest != 0 && rest != sequences) {
    no_token_file(path, file.size_bytes() - static_cast<int64_t>(rest),
                  "it is longer than its header says");
  }
  index.sequences = static_cast<int64_t>(sequences);
  return index;
}

// Returns how many tokens all sequences have together. Refuses sequences that do not lie end to end
// from the first byte of the .bin file on.
uint64_t total_tokens(const InputFile& file, const MegatronIndex& index) {
  constexpr int64_t kAtOnce = 4096;
  std::vector<uint8_t> lengths(static_cast<size_t>(4 * kAtOnce));
  std::vector<uint8_t> places(static_cast<size_t>(8 * kAtOnce));
  // The sum is checked as it grows, because it could overflow: a file can claim 2^63 / 12 sequences
  // of almost 2^31 tokens.
  uint64_t tokens = 0;
  for (int64_t first = 0; first < index.sequences; first += kAtOnce) {
    const auto n = static_cast<size_t>(std::min(kAtOnce, index.sequences - first));
    file.read(index.lengths() + 4 * first, std::span(lengths).first(4 * n));
    file.read(index.places() + 8 * first, std::span(places).first(8 * n));
    for (size_t i = 0; i < n; ++i) {
      const int64_t at = first + static_cast<int64_t>(i);
      const uint64_t length = unsigned_of(std::span(lengths).subspan(4 * i, 4));
      if (length > INT32_MAX) {
        no_token_file(file.path(), index.lengths() + 4 * at, "a sequence has a negative length");
      }
      if (unsigned_of(std::span(places).subspan(8 * i, 8)) != tokens * index.numbers.width) {
        no_token_file(file.path(), index.places() + 8 * at,
                      "a sequence does not begin where the one before it ends");
      }
      tokens += length;
      if (tokens > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 8) {
        no_token_file(file.path(), index.lengths() + 4 * at, "it has more tokens than there are");
      }
    }
  }
  return tokens;
}

}  // namespace

bool is_megatron_index(std::span<const uint8_t> first) {
  return std::equal(kMegatronMagic.begin(), kMegatronMagic.begin() + 7, first.begin());
}

std::string megatron_data_of(const std::string& index) {
  return std::filesystem::path(index).replace_extension(".bin").string();
}

std::shared_ptr<const TokenSource> open_megatron(const std::string& index,
                                                 const std::string& data) {
  const InputFile file(index);
  const MegatronIndex header = read_header(file);
  const uint64_t tokens = total_tokens(file, header);
  auto bytes = std::make_shared<const InputFile>(data);
  check_room(*bytes, 0, tokens, header.numbers.width, Room::Exactly);
  return std::make_shared<FileTokens>(std::move(bytes), 0, static_cast<int64_t>(tokens),
                                      header.numbers, "token");
}

}  // namespace penstock
