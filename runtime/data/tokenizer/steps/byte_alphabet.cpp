#include "runtime/data/tokenizer/steps/byte_alphabet.h"

#include <array>

#include "runtime/data/tokenizer/utf8.h"

namespace penstock {
namespace {

constexpr uint32_t kAllBytes = 256;

// Returns whether a byte is written as the character of the same number. That is so for bytes that
// are visible characters in Latin-1. The other 68 bytes are written, in their order, as the
// characters from number 256 on.
constexpr bool writes_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<char32_t, kAllBytes> kCharacters = [] {
  std::array<char32_t, kAllBytes> characters{};
  char32_t next = kAllBytes;
  for (uint32_t byte = 0; byte < kAllBytes; ++byte) {
    characters[byte] = writes_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}();

constexpr uint32_t kAlphabetEnd = kAllBytes + 68;

constexpr std::array<int16_t, kAlphabetEnd> kBytesOf = [] {
  std::array<int16_t, kAlphabetEnd> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (uint32_t byte = 0; byte < kAllBytes; ++byte) {
    bytes[kCharacters[byte]] = static_cast<int16_t>(byte);
  }
  return bytes;
}();

}  // namespace

char32_t character_of_byte(uint8_t byte) {
  return kCharacters[byte];
}

std::optional<std::string> bytes_of_word(std::string_view word) {
  std::string bytes;
  bytes.reserve(word.size());
  for (size_t at = 0; at < word.size();) {
    size_t bad = 0;
    if (character_bytes(word, at, bad) == 0) return std::nullopt;
    const Utf8Character character = utf8_at(word, at);
    if (character.code >= kAlphabetEnd || kBytesOf[character.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kBytesOf[character.code]);
    at += character.bytes;
  }
  return bytes;
}

}  // namespace penstock
