#include "runtime/data/tokenizer/utf8.h"

#include <cstdint>
#include <cstring>

namespace penstock {
namespace {

// Returns the place of the first byte from `at` on that is not ASCII, or the end of the text.
size_t skip_ascii(std::string_view text, size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::string_view valid_utf8(std::string_view bytes, std::string& storage) {
  bool copied = false;
  size_t kept = 0;  // if `copied`, bytes before this place are in `storage`
  for (size_t at = skip_ascii(bytes, 0); at < bytes.size(); at = skip_ascii(bytes, at)) {
    size_t bad = 0;
    if (const size_t n = character_bytes(bytes, at, bad); n > 0) {
      at += n;
      continue;
    }
    if (!copied) storage.clear();
    copied = true;
    storage.append(bytes.substr(kept, at - kept)).append("\xEF\xBF\xBD");
    at += bad;
    kept = at;
  }
  if (!copied) return bytes;
  storage.append(bytes.substr(kept));
  return storage;
}

int64_t bytes_not_utf8(std::string_view bytes) {
  size_t count = 0;
  for (size_t at = skip_ascii(bytes, 0); at < bytes.size(); at = skip_ascii(bytes, at)) {
    size_t bad = 0;
    const size_t n = character_bytes(bytes, at, bad);
    if (n == 0) count += bad;
    at += n > 0 ? n : bad;
  }
  return static_cast<int64_t>(count);
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12);
    put(0x80U | (code >> 6 & 0x3FU));
  } else {
    put(0xF0U | code >> 18);
    put(0x80U | (code >> 12 & 0x3FU));
    put(0x80U | (code >> 6 & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

Utf8Character utf8_at(std::string_view text, size_t at) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1};
  const size_t n = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code = first & (0x7FU >> n);
  for (size_t i = 1; i < n; ++i) code = code << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3FU);
  return {code, n};
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

size_t character_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

size_t space_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t at = character_before(text, end);
    if (!is_white_space(utf8_at(text, at).code)) break;
    end = at;
  }
  return end;
}

size_t space_end(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Utf8Character character = utf8_at(text, begin);
    if (!is_white_space(character.code)) break;
    begin += character.bytes;
  }
  return begin;
}

}  // namespace penstock
