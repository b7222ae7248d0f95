// The well-formed sequences are those of table 3-7 of the Unicode standard.
#include "runtime/system/files/byte_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace penstock {
namespace {

// This is what a first byte says of its character: how many bytes the character has (0: this is no
// first byte), and the range of the second byte.
struct Lead {
  size_t bytes;
  uint8_t low = 0x80, high = 0xBF;
};

Lead lead_of(uint8_t first) {
  if (first < 0x80) return {1};
  if (first >= 0xC2 && first <= 0xDF) return {2};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {3};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {4};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// The characters U+10FE80 .. U+10FEFF stand for bytes. In UTF-8 each is kStem, then 0xBA or 0xBB,
// then a byte with six bits.
constexpr std::string_view kStem = "\xF4\x8F";

// Returns the byte that the character at `at` stands for, or -1 if the character stands for no
// byte.
int byte_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != kStem || at + 4 > text.size()) return -1;
  const auto high = static_cast<uint8_t>(text[at + 2]);
  const auto low = static_cast<uint8_t>(text[at + 3]);
  if ((high != 0xBA && high != 0xBB) || (low & 0xC0U) != 0x80U) return -1;
  return (high == 0xBA ? 0x80 : 0xC0) + (low & 0x3F);
}

std::string hexadecimal(uint8_t byte) {
  std::array<char, 5> text{};
  (void)std::snprintf(text.data(), text.size(), "\\x%02x", byte);
  return text.data();
}

void append_byte(std::string& text, uint8_t byte) {
  text += kStem;
  text += static_cast<char>(byte < 0xC0 ? 0xBA : 0xBB);
  text += static_cast<char>(0x80 | (byte & 0x3F));
}

}  // namespace

size_t character_bytes(std::string_view text, size_t at, size_t& bad) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(at));
  bad = 1;
  if (lead.bytes <= 1) return lead.bytes;
  if (at + 1 >= text.size() || byte(at + 1) < lead.low || byte(at + 1) > lead.high) return 0;
  for (bad = 2; bad < lead.bytes; ++bad) {
    if (at + bad >= text.size() || (byte(at + bad) & 0xC0U) != 0x80U) return 0;
  }
  return lead.bytes;
}

std::string unicode_of(std::string_view bytes) {
  std::string text;
  size_t bad = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = byte_at(bytes, at) < 0 ? character_bytes(bytes, at, bad) : 0;
    if (n == 0) append_byte(text, static_cast<uint8_t>(bytes[at]));
    text += bytes.substr(at, n);
    at += n == 0 ? 1 : n;
  }
  return text;
}

std::string bytes_of(std::string_view unicode) {
  std::string bytes;
  for (size_t at = 0; at < unicode.size();) {
    const int byte = byte_at(unicode, at);
    bytes += byte < 0 ? unicode[at] : static_cast<char>(byte);
    at += byte < 0 ? 1 : 4;
  }
  return bytes;
}

std::string shown_bytes(std::string_view bytes) {
  std::string text;
  bool all_valid = true;
  size_t bad = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = character_bytes(bytes, at, bad);
    all_valid = all_valid && n > 0;
    if (n == 0) text += hexadecimal(static_cast<uint8_t>(bytes[at]));
    text += bytes[at] == '\\' ? "\\\\" : bytes.substr(at, n);
    at += n == 0 ? 1 : n;
  }
  return all_valid ? std::string(bytes) : text;
}

}  // namespace penstock
