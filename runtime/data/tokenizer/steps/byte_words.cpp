#include "runtime/data/tokenizer/steps/byte_words.h"

#include <charconv>

namespace penstock {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string word_of_byte(uint8_t byte) {
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 0xFU] + ">";
}

std::optional<char> byte_of_word(std::string_view word) {
  if (word.size() != 6 || !word.starts_with("<0x") || word.back() != '>') return std::nullopt;
  uint8_t byte = 0;
  const char* const last = word.data() + 5;
  const auto [end, error] = std::from_chars(word.data() + 3, last, byte, 16);
  if (error != std::errc() || end != last) return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace penstock
